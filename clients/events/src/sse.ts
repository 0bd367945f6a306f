// Reads server-sent events as the HTML standard has them.

/** One message of a stream. */
export interface Message {
  id?: string;
  event?: string;
  data?: string;
  /** How long to wait before coming back, in milliseconds. */
  retry?: number;
}

/**
 * Gives the messages of a stream, however its bytes are cut. A message that is
 * not finished when the stream ends or breaks is not given.
 */
export async function* parse(body: ReadableStream<Uint8Array>): AsyncGenerator<Message, void, undefined> {
  const reader = body.getReader();
  const text = new TextDecoder();
  const data: string[] = [];
  let message: Message = {};
  const lineEnd = /[\r\n]/g;
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += text.decode(value, { stream: true });
      for (;;) {
        const end = lineEnd.exec(rest)?.index;
        if (end === undefined) {
          lineEnd.lastIndex = rest.length; // what was looked at is not looked at again
          break;
        }
        if (rest[end] === "\r" && end === rest.length - 1) {
          lineEnd.lastIndex = end; // it may be half of a \r\n
          break;
        }
        const line = rest.slice(0, end);
        rest = rest.slice(end + (rest.startsWith("\r\n", end) ? 2 : 1));
        lineEnd.lastIndex = 0;
        if (line !== "") {
          take(line, message, data);
          continue;
        }
        if (data.length > 0) message.data = data.join("\n");
        if (message.data !== undefined || message.id !== undefined || message.retry !== undefined) yield message;
        message = {};
        data.length = 0;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function take(line: string, into: Message, data: string[]): void {
  const colon = line.indexOf(":");
  if (colon === 0) return; // a comment
  const field = colon < 0 ? line : line.slice(0, colon);
  let value = colon < 0 ? "" : line.slice(colon + 1);
  if (value.startsWith(" ")) value = value.slice(1);
  if (field === "data") data.push(value);
  else if (field === "event") into.event = value;
  else if (field === "id" && !value.includes("\0")) into.id = value;
  else if (field === "retry" && /^[0-9]+$/.test(value)) into.retry = Number(value);
}

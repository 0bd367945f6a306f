// What a front end writes, for the compiler: the types must carry it.
import { Events, isKnown, type CallEvent, type ElicitationRequest, type ToolResult } from "@answerback/events";

const events = new Events({ url: "https://mcp.example.com", headers: async () => ({ authorization: "Bearer x" }), elicitation: true });

export async function use(ask: (q: ElicitationRequest) => Promise<"accept" | "decline">): Promise<ToolResult["result"] | undefined> {
  const call = events.call({ name: "search", arguments: { q: "x" }, backend: "one" });
  for await (const event of call) {
    if (!isKnown(event)) {
      const more: unknown = event["anything"];
      void more;
      continue;
    }
    switch (event.type) {
      case "elicitation-request":
        await call.respond(event.id, { action: await ask(event), content: {} });
        break;
      case "data-tool-auth-required":
        console.log(event.data.message, event.data.url, event["new-member"]);
        break;
      case "tool-result":
        return event.result;
      case "error":
        throw new Error(event.message);
    }
  }
  return undefined;
}

export const passedOn: CallEvent = { type: "a-type-of-the-future", x: 1 };
// @ts-expect-error an event has a type
export const refused: CallEvent = { x: 1 };

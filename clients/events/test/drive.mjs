// Does what it is told with the module against a running gateway, and prints
// what came of it as JSON:
//
//   node drive.mjs '{"url": ..., "calls": [{"start": {...}, "answers": [...]}]}'
//
// An answer is for the next question; "wait" leaves it open, "abort" cancels
// the call. With "breaks", the first call is made over and over, each time with
// its first connection broken one byte later.
import { Events, Refused } from "../dist/index.js";

const job = JSON.parse(process.argv[2]);

// counted notes how many bytes a connection carried. After limit bytes the
// first connection of the call breaks; below 0 even its response is lost.
function counted(limit, note) {
  let connections = 0;
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
    const first = connections++ === 0;
    const reader = response.body.getReader();
    if (first && limit < 0) {
      await reader.cancel();
      throw new TypeError("the response was lost");
    }
    let carried = 0;
    const body = new ReadableStream({
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        const part = first ? value.slice(0, limit - carried) : value;
        carried += part.length;
        if (first) note(carried);
        if (part.length > 0) controller.enqueue(part);
        if (first && carried >= limit) {
          await reader.cancel();
          controller.error(new TypeError("the connection broke"));
        }
      },
      cancel: () => reader.cancel(),
    });
    return new Response(body, response);
  };
}

async function run({ start, answers = [], options = {} }, limit = Infinity, note = () => {}) {
  const events = new Events({ url: job.url, delay: 0, ...options, fetch: counted(limit, note) });
  const call = events.call(start);
  const left = [...answers];
  const report = { events: [], refusals: [] };
  try {
    for await (const event of call) {
      report.events.push(event);
      if (!event.type.endsWith("-request")) continue;
      for (let answer = left.shift(); answer !== undefined && answer !== "wait"; answer = left.shift()) {
        try {
          if (answer === "abort") await call.cancel();
          else if (event.type === "sampling-request") await call.respondSampling(event.id, answer);
          else await call.respond(event.id, answer);
          break;
        } catch (error) {
          if (!(error instanceof Refused)) throw error;
          report.refusals.push({ status: error.status, code: error.code, fields: error.errors.map((e) => e.field) });
        }
      }
    }
  } catch (error) {
    report.error = { name: error.name, code: error.code, message: error.message };
  }
  return report;
}

let reports;
if (job.breaks) {
  const [one] = job.calls;
  let size = 0;
  reports = [await run(one, Infinity, (n) => (size = n))];
  const limits = Array.from({ length: size + 1 }, (_, n) => n - 1);
  const worker = async () => {
    for (let limit = limits.shift(); limit !== undefined; limit = limits.shift()) {
      reports.push({ limit, ...(await run(one, limit)) });
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
} else {
  reports = await Promise.all(job.calls.map((c) => run(c)));
}
process.stdout.write(JSON.stringify(reports));

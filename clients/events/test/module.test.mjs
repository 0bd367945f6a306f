import assert from "node:assert/strict";
import { test } from "node:test";
import { CallLost, Events, Refused, isKnown, parse } from "../dist/index.js";

const bytes = (text) => new TextEncoder().encode(text);

function body(...chunks) {
  return new ReadableStream({
    start(controller) {
      for (const c of chunks) controller.enqueue(typeof c === "string" ? bytes(c) : c);
      controller.close();
    },
  });
}

// gateway is a fetch that answers with streams, one after the other, and notes
// what it was asked.
function gateway(...answers) {
  const asked = [];
  const fetch = async (url, init) => {
    asked.push({ url, ...init });
    const answer = answers[asked.length - 1];
    if (answer === undefined) throw new TypeError("fetch failed");
    return answer instanceof Response ? answer : new Response(body(answer));
  };
  return { asked, fetch, events: (more) => new Events({ url: "https://gw.example/", fetch, delay: 0, ...more }) };
}

async function all(call) {
  const seen = [];
  for await (const event of call) seen.push(event);
  return seen;
}

const line = (n, event) => `id: ${n}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const started = { type: "call-started", schemaVersion: 1, callId: "c1", tool: "t", elicitation: false, sampling: false, at: 1 };
const result = { type: "tool-result", result: { content: [] } };

test("a stream is read the same however it is cut", async () => {
  const text = ': hello\nretry: 5\n\r\nid: 1\revent: a\r\ndata: {"x":\ndata:"é🙂"}\n\ndata\n\nid: 2\ndata: z\n\nid: 3\ndata: unfinished';
  const want = [{ retry: 5 }, { id: "1", event: "a", data: '{"x":\n"é🙂"}' }, { data: "" }, { id: "2", data: "z" }];
  const raw = bytes(text);
  for (let at = 0; at <= raw.length; at++) {
    assert.deepEqual(await Array.fromAsync(parse(body(raw.slice(0, at), raw.slice(at)))), want, `cut at ${at}`);
  }
  assert.deepEqual(await Array.fromAsync(parse(body(...Array.from(raw, (b) => Uint8Array.of(b))))), want);
});

test("unknown types, unknown members and a newer version are passed on", async () => {
  const news = [
    { ...started, schemaVersion: 7, hint: { of: "the future" } },
    { type: "thought", text: "hm", nested: { a: [1, null] } },
    { type: "progress", progress: 1, colour: "red" },
    { type: "toString" },
    { ...result, cost: 3 },
  ];
  const seen = await all(gateway(news.map((e, i) => line(i + 1, e)).join("")).events().call({ name: "t" }));
  assert.deepEqual(seen, news);
  assert.deepEqual(seen.map(isKnown), [true, false, true, false, true]);
});

test("a broken stream is gone on with, each event once", async () => {
  const p = (n) => line(n, { type: "progress", progress: n });
  const g = gateway(line(1, started) + p(2), p(2) + p(3), line(4, result));
  const seen = await all(g.events({ elicitation: true }).call({ name: "t", key: "k" }));
  assert.deepEqual(seen.map((e) => e.progress ?? e.type), ["call-started", 2, 3, "tool-result"]);
  assert.deepEqual(g.asked.map((a) => [a.method, a.url, a.headers["last-event-id"], a.headers["idempotency-key"]]), [
    ["POST", "https://gw.example/events/call", undefined, "k"],
    ["GET", "https://gw.example/events/calls/c1", "2", undefined],
    ["GET", "https://gw.example/events/calls/c1", "3", undefined],
  ]);
  assert.equal(g.asked[0].headers["x-supports-elicitation"], "true");
});

test("what a restarted gateway says again is passed over", async () => {
  const asks = (id) => ({ type: "elicitation-request", id, mode: "form", message: "m", backend: "one", deadline: 1 });
  const base = 1794759215454668;
  const lost = { type: "events-lost", after: 2 };
  const g = gateway(
    line(1, started) + line(2, asks("a")),
    `event: events-lost\ndata: ${JSON.stringify(lost)}\n\n` + line(base, started) + line(base + 1, asks("a")) + line(base + 2, asks("b")),
    line(base + 3, result),
  );
  const seen = await all(g.events().call({ name: "t" }));
  assert.deepEqual(seen, [started, asks("a"), lost, asks("b"), result]);
  assert.deepEqual(g.asked.map((a) => a.headers["last-event-id"]), [undefined, "2", String(base + 2)]);
});

test("a call belongs to a conversation", async () => {
  const of = async (options, start) => {
    const g = gateway(line(1, started) + line(2, result));
    await all(g.events(options).call({ name: "t", ...start }));
    return JSON.parse(g.asked[0].body).conversation;
  };
  assert.equal(await of({}, {}), undefined);
  assert.equal(await of({ conversation: "a" }, {}), "a");
  assert.equal(await of({ conversation: "a" }, { conversation: "b" }), "b");
});

test("a lost first response is asked for with the same key", async () => {
  const g = gateway("", ": nothing yet\n\n", line(1, started) + line(2, result));
  const call = g.events().call({ name: "t", backend: "one" });
  assert.equal((await all(call)).length, 2);
  assert.deepEqual(g.asked.map((a) => [a.method, a.headers["idempotency-key"]]), Array(3).fill(["POST", call.key]));
  assert.equal(new Set(g.asked.map((a) => a.body)).size, 1);
  assert.match(call.key, /^[0-9a-f]{32}$/);
  assert.equal(g.asked[0].headers["x-supports-elicitation"], undefined);
});

test("a gateway that is gone, or that says no, is an error", async () => {
  await assert.rejects(all(gateway().events({ attempts: 2 }).call({ name: "t" })), CallLost);
  const no = (status) => new Response(JSON.stringify({ error: { code: "not_allowed", message: "No.", errors: [{ field: "a", message: "b" }] } }), { status });
  const g = gateway(no(401));
  await assert.rejects(all(g.events().call({ name: "t" })), (e) => e instanceof Refused && e.status === 401 && e.code === "not_allowed" && e.errors[0].field === "a");
  assert.equal(g.asked.length, 1);
  const busy = gateway(no(503), line(1, started) + line(2, result));
  assert.equal((await all(busy.events().call({ name: "t" }))).length, 2);
});

test("following ends when it is told to", async () => {
  const stop = new AbortController();
  const fetch = async (_, init) => {
    stop.abort();
    init.signal.throwIfAborted();
  };
  await assert.rejects(all(new Events({ url: "https://gw.example", fetch, delay: 0 }).call({ name: "t", signal: stop.signal })), { name: "AbortError" });
  const call = gateway(line(1, started) + line(2, result)).events().call({ name: "t" });
  await assert.rejects(call.cancel(), /not started/);
  await all(call);
  await assert.rejects(all(call), /once/);
});

// A chat front end at the gateway's event stream, which needs no SDK: with
// the module of clients/events, or with fetch alone, as its target's era says.
// A call is all that there is: nothing is listed, and nothing lasts between
// two calls. The plan that it takes is explained in drive.mjs.
import { randomUUID } from 'node:crypto';
import { drive } from './drive.mjs';
import { Events } from './events/index.js';

await drive(async (target, handlers) => {
  const [url, backend] = target.url.split('/mcp/');
  const can = !target.mute;
  const front = target.era === 'fetch' ? bare(url, can) : new Events({ url, elicitation: can, sampling: can, client: 'peer-events' });
  return {
    client: { listTools: async () => ({ tools: [] }), close: async () => {} },
    negotiated: () => ({ era: 'legacy', version: '1' }), // to its server a call is a session of the legacy era
    call: (params, { timeout, signal, onprogress }) => {
      const call = front.call({ backend, ...params, signal: AbortSignal.timeout(timeout) });
      return follow(call, handlers, { signal, onprogress });
    },
  };
});

// follow does what a front end does with the events of a call.
async function follow(call, handlers, { signal, onprogress }) {
  const open = new Map(); // how to take a question away, by id
  const needs = [];
  const refused = [];
  const send = (said) => said.catch((e) => refused.push(e));
  signal.addEventListener('abort', () => send(call.cancel()));
  const put = async ({ id }, question, respond) => {
    const shown = new AbortController();
    open.set(id, shown);
    const answer = await question(shown.signal);
    if (!shown.signal.aborted) await send(respond(id, answer));
  };
  for await (const event of call) {
    switch (event.type) {
      case 'progress':
        onprogress(event);
        break;
      case 'log':
        handlers.log(event);
        break;
      case 'elicitation-complete':
        handlers.complete(event);
        break;
      case 'elicitation-request':
        put(event, (shown) => handlers.elicit(event, shown), (id, answer) => call.respond(id, answer));
        break;
      case 'sampling-request':
        put(event, (shown) => handlers.sample(event.params, shown), (id, result) => call.respondSampling(id, { result }));
        break;
      case 'elicitation-settled':
      case 'sampling-settled':
        open.get(event.id).abort();
        break;
      case 'data-tool-auth-required':
        needs.push(event.data);
        break;
      case 'tool-result':
        if (refused.length > 0) throw refused[0];
        if (event.result.isError && needs.length > 0) throw failure('data-tool-auth-required', event.result.content[0].text, { elicitations: needs });
        return event.result;
      case 'error':
        throw failure(event.code, event.message, event.data);
    }
  }
}

function failure(code, message, data) {
  return Object.assign(new Error(message), { code, data });
}

// bare is a front end that somebody wrote in an afternoon.
function bare(url, can) {
  const post = async (path, body, headers) => {
    const response = await fetch(`${url}/events${path}`, {
      method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', ...headers },
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return response;
  };
  return {
    call({ backend, name, arguments: args, signal }) {
      const { promise: id, resolve } = Promise.withResolvers();
      const say = async (what, body) => (await post(`/calls/${await id}/${what}`, body)).body.cancel();
      return {
        respond: (id, answer) => say('respond', { type: 'elicitation-response', id, ...answer }),
        respondSampling: (id, answer) => say('respond', { type: 'sampling-response', id, ...answer }),
        cancel: () => say('cancel'),
        async *[Symbol.asyncIterator]() {
          const headers = { 'Idempotency-Key': randomUUID(), 'X-Supports-Elicitation': `${can}`, 'X-Supports-Sampling': `${can}` };
          const { body } = await post(`/${backend}/call`, { name, arguments: args }, headers);
          let rest = '';
          for await (const text of body.pipeThrough(new TextDecoderStream(), { signal })) {
            const blocks = (rest + text).split('\n\n');
            rest = blocks.pop();
            for (const block of blocks) {
              const line = block.split('\n').find((l) => l.startsWith('data: '));
              if (!line) continue; // a comment, or how soon to come back
              const event = JSON.parse(line.slice('data: '.length));
              if (event.type === 'call-started') resolve(event.callId);
              yield event;
            }
          }
        },
      };
    },
  };
}

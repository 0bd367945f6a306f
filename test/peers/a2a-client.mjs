// A client on @a2a-js/sdk, over the binding that its target's era names:
// JSONRPC or HTTP+JSON. To our own agent it names a skill, and says what a
// gateway would have it say: the arguments message and data; to a gateway it
// names a tool in a data part. The plan that it takes is explained in
// drive.mjs.
import { ClientFactory, ClientFactoryOptions } from '@a2a-js/sdk/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { data, over, TaskState, text, user, values, words } from './a2a.mjs';
import { drive } from './drive.mjs';

const failure = (message) => Object.assign(new Error(message), { code: 'canceled' });

// Task is one task, from its first message to its end.
class Task {
  #client;
  #handlers;
  #onprogress;
  #options;
  #at = {}; // the ids
  #artifacts = new Map();
  #steps = 0;

  constructor(client, handlers, { timeout, signal, onprogress }) {
    this.#client = client;
    this.#handlers = handlers;
    this.#onprogress = onprogress;
    this.#options = { signal: AbortSignal.timeout(timeout) };
    signal.addEventListener('abort', () => client.cancelTask({ id: this.#at.taskId, tenant: '', metadata: {} }).catch(() => {}));
  }

  async run(message) {
    for (let next = message; next; ) {
      const status = await this.#turn(next);
      if (over(status.state)) return this.#end(status);
      next = await this.#answer(status);
    }
  }

  // turn sends a message, and gives the status with which its turn ends.
  async #turn(message) {
    let status;
    try {
      for await (const { payload } of this.#client.sendMessageStream({ message, tenant: '', metadata: {} }, this.#options)) {
        const { $case, value: event } = payload;
        if ($case === 'task') this.#know(event);
        if ($case === 'artifactUpdate') this.#artifacts.set(event.artifact.artifactId, event.artifact);
        if ($case !== 'statusUpdate' && $case !== 'task') continue;
        status = event.status;
        if ($case === 'statusUpdate' && status.state === TaskState.TASK_STATE_WORKING && status.message) this.#onprogress({ progress: ++this.#steps });
        if (waits(status.state) && $case === 'statusUpdate') return status;
      }
    } catch (e) {
      if (!this.#at.taskId || this.#options.signal.aborted) throw e;
    }
    while (!status || !over(status.state) && !waits(status.state)) status = await this.#look(); // its end came in between
    return status;
  }

  async #look() {
    await sleep(20, undefined, this.#options);
    const task = await this.#client.getTask({ id: this.#at.taskId, tenant: '' }, this.#options);
    this.#know(task);
    return task.status;
  }

  #know({ id, contextId, artifacts }) {
    this.#at = { taskId: id, contextId };
    for (const a of artifacts ?? []) this.#artifacts.set(a.artifactId, a);
  }

  // answer answers all that a task asks at once, each question by its id where
  // it has one. Words alone are answered with words.
  async #answer({ message }) {
    const said = words(message?.parts);
    const questions = values(message?.parts).filter((q) => q.requestedSchema || q.url);
    if (questions.length === 0) {
      const { action, content } = await this.#handlers.elicit({ mode: 'form', message: said, requestedSchema: { properties: { text: {} } } });
      return user([action === 'accept' ? text(content.text) : data({ action })], this.#at);
    }
    const answers = questions.map(async (q) => {
      const answer = await this.#handlers.elicit({ message: said, mode: q.url ? 'url' : 'form', ...q });
      return data({ ...(q.id && { id: q.id }), ...answer });
    });
    return user(await Promise.all(answers), this.#at);
  }

  #end({ state, message }) {
    if (state === TaskState.TASK_STATE_CANCELED) throw failure(words(message?.parts) || 'The task was canceled.');
    const parts = state === TaskState.TASK_STATE_COMPLETED ? [...this.#artifacts.values()].flatMap((a) => a.parts) : message?.parts;
    return { isError: state !== TaskState.TASK_STATE_COMPLETED, content: [{ type: 'text', text: words(parts) }] };
  }
}

function waits(state) {
  return state === TaskState.TASK_STATE_INPUT_REQUIRED || state === TaskState.TASK_STATE_AUTH_REQUIRED;
}

await drive(async (target, handlers) => {
  const factory = new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { preferredTransports: [target.era] }));
  const client = await factory.createFromUrl(`${target.url}/`); // it looks for the card beside the last part of a path
  const card = await client.getAgentCard();
  const start = card.name === 'a2a-agent'
    ? ({ name, arguments: args }) => user([text(args.message ?? name), data(args.data ?? args)], { metadata: { skillId: name } })
    : ({ name, arguments: args }) => user([data({ tool: name, arguments: args })]);
  return {
    client: { listTools: async () => ({ tools: card.skills.map((s) => ({ name: s.id })) }), close: async () => {} },
    negotiated: () => ({ era: 'modern', version: client.protocolVersion }), // a task's turn is a round
    call: (params, options) => new Task(client, handlers, options).run(start(params)),
  };
});

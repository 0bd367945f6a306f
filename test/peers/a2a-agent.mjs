// An agent on @a2a-js/sdk that asks: by form, by text and by a page; it prints
// its address when it listens. A message names its skill in its metadata, as
// skillId, and has the arguments in a data part. A question is a status message
// of text and of {requestedSchema} or {url}; the answer to a form is a data
// part, {action, content} or the content alone. Its argument is a directory in
// which it counts the runs of its skills, in files.
import express from 'express';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { agent, data, TaskState, text, values, words } from './a2a.mjs';

const count = (key) => process.argv[2] && appendFileSync(join(process.argv[2], key), '.');
// promised gives promises by key, which are kept once.
const promised = (all = new Map()) => (key) => {
  if (!all.has(key)) all.set(key, Promise.withResolvers());
  return all.get(key);
};
const visited = promised();
const ended = promised();

const form = { requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } };
const ask = (task, message) => task.ask(TaskState.TASK_STATE_INPUT_REQUIRED, [text(message), data(form)]);
const kinds = {
  form: ask,
  text: (task, message) => task.ask(TaskState.TASK_STATE_INPUT_REQUIRED, [text(message)]),
  url: (task, message, key) => page(task, message ?? 'Open', key),
};

// page waits for a visit, of which nobody has to tell, or for a no. That the
// person agreed to go there is neither.
async function page(task, message, key) {
  const parts = [text(message), data({ url: `${address()}/visit?key=${encodeURIComponent(key)}` })];
  let answer = await task.ask(TaskState.TASK_STATE_AUTH_REQUIRED, parts, visited(key).promise);
  while (answer.action === 'accept' && !answer.visited) answer = await task.answered(visited(key).promise);
  return { action: answer.action };
}

const skills = {
  echo: async (task, _input, said) => said,
  progress: async (task, { steps, pause = 0 }) => {
    for (let i = 1; i <= steps; i++) {
      task.status(TaskState.TASK_STATE_WORKING, [text(`step ${i} of ${steps}`)]);
      await sleep(pause);
    }
    return 'done';
  },
  // One question a round; the answers are the result.
  ask: async (task, { key, rounds }) => {
    count(key);
    const got = [];
    for (const [question, more] of rounds) {
      if (more) throw new Error('an agent asks one thing at a time');
      const [kind, message] = question.split(':');
      if (!kinds[kind]) throw new Error(`A2A has no word for ${kind}`);
      got.push([await kinds[kind](task, message, key)]);
    }
    return JSON.stringify(got);
  },
  required: async (task, { key }) => {
    count(key);
    const { action } = await page(task, 'Visit', key);
    return action === 'accept' ? `visited ${key}` : `not visited: ${action}`;
  },
  // It no longer wants its answer after a while.
  withdraw: async (task, { key, wait }) => {
    count(key);
    const until = Date.now() + wait;
    const answer = await ask(task, 'Who?');
    if (Date.now() < until) throw new Error(`the question got an answer: ${answer.action}`);
    return 'withdrawn';
  },
  block: async (task, { key }) => {
    count(key);
    task.status(TaskState.TASK_STATE_WORKING, [text('blocked')]);
    await task.cancelled;
  },
  ended: async (task, { key, wait }) => {
    const first = await Promise.race([ended(key).promise, sleep(wait ?? 3_600_000, '')]);
    if (!first) throw new Error(`${key} has not ended`);
    return `ended ${key}`;
  },
  fail: async () => {
    throw new Error('This failed.');
  },
};

// Running is the run of a skill, over the turns of its task.
class Running {
  #bus;
  #answer; // how to answer the open question
  #turn = Promise.withResolvers();
  #cancel = Promise.withResolvers();
  cancelled = this.#cancel.promise.then(() => {});

  constructor({ taskId, contextId }) {
    this.at = { taskId, contextId };
  }

  // turn does something on a message, and waits for the end of its turn: a
  // result, or the next question that is no page.
  turn(bus, task, go) {
    this.#bus = bus;
    const begun = { id: this.at.taskId, contextId: this.at.contextId, artifacts: [], history: [], metadata: {}, ...task };
    bus.publish(AgentEvent.task({ ...begun, status: this.#status(task ? TaskState.TASK_STATE_WORKING : TaskState.TASK_STATE_SUBMITTED) }));
    const { promise } = this.#turn;
    go();
    return promise;
  }

  async run(skill, input, said) {
    try {
      const result = await Promise.race([skills[skill](this, input, said), this.cancelled]);
      if (result !== undefined) this.#complete(result);
      else {
        this.status(TaskState.TASK_STATE_CANCELED);
        ended(input.key).resolve('ended');
      }
    } catch (e) {
      this.status(TaskState.TASK_STATE_FAILED, [text(e.message)]);
    }
    running.delete(this.at.taskId);
    this.#turn.resolve();
  }

  // ask waits for an answer, or for what may come instead.
  ask(state, parts, otherwise) {
    const answered = this.answered(otherwise);
    this.status(state, parts);
    if (state === TaskState.TASK_STATE_INPUT_REQUIRED) {
      this.#turn.resolve();
      this.#turn = Promise.withResolvers();
    }
    return answered;
  }

  answered(otherwise = new Promise(() => {})) {
    const { promise, resolve } = Promise.withResolvers();
    this.#answer = resolve;
    return Promise.race([promise, otherwise]);
  }

  answer({ parts }) {
    const [given] = values(parts);
    if (!given) return this.#answer?.({ text: words(parts) });
    this.#answer?.(given.action ? given : { action: 'accept', content: given });
  }

  cancel() {
    this.#cancel.resolve();
    return this.#turn.promise;
  }

  #complete(result) {
    const artifact = { artifactId: 'result', name: 'result', description: '', parts: [text(result)], metadata: {}, extensions: [] };
    this.#bus.publish(AgentEvent.artifactUpdate({ ...this.at, artifact, append: false, lastChunk: true, metadata: {} }));
    this.status(TaskState.TASK_STATE_COMPLETED);
  }

  status(state, parts) {
    this.#bus.publish(AgentEvent.statusUpdate({ ...this.at, status: this.#status(state, parts), metadata: {} }));
  }

  #status(state, parts) {
    return { state, message: parts && agent(parts, this.at), timestamp: new Date().toISOString() };
  }
}

const running = new Map();
const executor = {
  execute: async ({ taskId, contextId, task, userMessage }, bus) => {
    const known = running.get(taskId);
    if (known) return known.turn(bus, task, () => known.answer(userMessage));
    const { skillId = 'echo' } = userMessage.metadata ?? {};
    const begun = new Running({ taskId, contextId });
    running.set(taskId, begun);
    return begun.turn(bus, task, () => begun.run(skillId, values(userMessage.parts)[0] ?? {}, words(userMessage.parts)));
  },
  cancelTask: async (taskId) => running.get(taskId)?.cancel(),
};

const app = express();
const server = app.listen(0, '127.0.0.1', () => {
  const at = (protocolBinding, path) => ({ url: address() + path, protocolBinding, protocolVersion: '1.0', tenant: '' });
  const card = {
    name: 'a2a-agent', description: 'Asks back.', version: '1.0.0',
    supportedInterfaces: [at('JSONRPC', '/jsonrpc'), at('HTTP+JSON', '/rest')],
    capabilities: { streaming: true, pushNotifications: false, extensions: [] },
    defaultInputModes: ['text/plain', 'application/json'], defaultOutputModes: ['text/plain'],
    securitySchemes: {}, securityRequirements: [], signatures: [],
    skills: Object.keys(skills).map((id) => ({ id, name: id, description: id, tags: [], examples: [], inputModes: [], outputModes: [], securityRequirements: [] })),
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  const userBuilder = UserBuilder.noAuthentication;
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/jsonrpc', jsonRpcHandler({ requestHandler, userBuilder }));
  app.use('/rest', restHandler({ requestHandler, userBuilder }));
  app.get('/visit', (req, res) => {
    visited(req.query.key).resolve({ action: 'accept', visited: true });
    res.end();
  });
  console.log(address());
});
const address = () => `http://127.0.0.1:${server.address().port}`;

// A server on @modelcontextprotocol/server, of the modern era alone, that asks
// by form, URL, sampling and roots; it prints its URL when it listens. Its
// argument is a directory in which it counts the runs of its tools, in files.
import { createMcpHandler, McpServer, inputRequired } from '@modelcontextprotocol/server';
import { z } from 'zod';
import http from 'node:http';
import { Readable } from 'node:stream';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const ended = new Map();
const end = (key) => {
  if (!ended.has(key)) ended.set(key, Promise.withResolvers());
  return ended.get(key);
};
const count = (key) => process.argv[2] && appendFileSync(join(process.argv[2], key), '.');
const visited = new Set();
const address = () => `http://127.0.0.1:${server.address().port}`;
const text = (s) => ({ content: [{ type: 'text', text: s }] });

const factory = () => {
  const server = new McpServer({ name: 'server-v2', version: '1.0.0' }, { capabilities: { tools: {} } });
  const tool = (name, shape, run) => server.registerTool(name, { description: name, inputSchema: z.object(shape) }, run);
  const asks = (name, question) => tool(name, {}, async (_args, ctx) => {
    const answer = ctx.mcpReq.inputResponses?.[name];
    if (!answer) return inputRequired({ inputRequests: { [name]: question() }, requestState: `state-${name}` });
    return text(JSON.stringify({ answer, state: await ctx.mcpReq.requestState?.() }));
  });
  const form = (message) => inputRequired.elicit({ message, requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } });
  const url = () => inputRequired.elicitUrl({ message: 'Open', url: 'https://example.com/auth?x=1' });
  const sampling = () => inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: 'Capital?' } }], maxTokens: 10 });
  const roots = () => ({ ...inputRequired.listRoots(), params: {} }); // go-sdk cannot read it without params
  asks('form', () => form('Who?'));
  asks('url', url);
  asks('sampling', sampling);
  asks('roots', roots);
  const kinds = { form, url, sampling, roots };
  // In each round all questions at once; the state carries the answers of the
  // rounds before.
  tool('ask', { key: z.string(), rounds: z.array(z.array(z.string())) }, async ({ key, rounds }, ctx) => {
    const state = await ctx.mcpReq.requestState?.();
    const got = state ? JSON.parse(state) : [];
    if (!state) count(key);
    else got.push(rounds[got.length].map((_, i) => ctx.mcpReq.inputResponses[`q${i}`]));
    if (got.length === rounds.length) return text(JSON.stringify(got));
    const questions = rounds[got.length].map((q, i) => {
      const [kind, message] = q.split(':');
      return [`q${i}`, kinds[kind](message)];
    });
    return inputRequired({ inputRequests: Object.fromEntries(questions), requestState: JSON.stringify(got) });
  });
  // A server of this era takes a question back by giving its call another end:
  // the state says until when an answer is wanted.
  tool('withdraw', { key: z.string(), wait: z.number() }, async ({ key, wait }, ctx) => {
    const state = await ctx.mcpReq.requestState?.();
    if (!state) {
      count(key);
      return inputRequired({ inputRequests: { q: form('Who?') }, requestState: String(Date.now() + wait) });
    }
    if (Date.now() < Number(state)) throw new Error(`the question got an answer: ${ctx.mcpReq.inputResponses.q.action}`);
    return text('withdrawn');
  });
  tool('required', { key: z.string() }, async ({ key }, ctx) => {
    if (!(await ctx.mcpReq.requestState?.())) count(key);
    if (visited.has(key)) return text(`visited ${key}`);
    return inputRequired({ inputRequests: { page: inputRequired.elicitUrl({ message: 'Visit', url: `${address()}/visit?key=${key}` }) }, requestState: 'required' });
  });
  const progress = async (steps, ctx, pause) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let i = 1; i <= steps; i++) {
      await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: i, total: steps } });
      if (pause) await sleep(pause);
    }
  };
  tool('echo', { text: z.string() }, async (args) => text(args.text));
  tool('progress', { steps: z.number(), pause: z.number().optional() }, async (args, ctx) => {
    await progress(args.steps, ctx, args.pause);
    return text('done');
  });
  tool('block', { key: z.string() }, async (args, ctx) => {
    count(args.key);
    const { promise, resolve } = Promise.withResolvers();
    ctx.mcpReq.signal.addEventListener('abort', resolve);
    await progress(1, ctx);
    await promise;
    end(args.key).resolve();
    return text('aborted');
  });
  tool('ended', { key: z.string(), wait: z.number().optional() }, async (args) => {
    const late = args.wait && sleep(args.wait, 'late');
    const first = await Promise.race([end(args.key).promise, late].filter(Boolean));
    if (first === 'late') throw new Error(`${args.key} has not ended`);
    return text(`ended ${args.key}`);
  });
  return server;
};

const handler = createMcpHandler(factory, { legacy: 'reject' });
const server = http.createServer(async (req, res) => {
  const { pathname, searchParams } = new URL(req.url, 'http://localhost');
  if (pathname === '/visit') {
    visited.add(searchParams.get('key'));
    return res.end();
  }
  const gone = new AbortController();
  res.on('close', () => gone.abort());
  const body = req.method === 'GET' || req.method === 'HEAD' ? {} : { body: Readable.toWeb(req), duplex: 'half' };
  const answer = await handler.fetch(new Request(`http://${req.headers.host}${req.url}`, { method: req.method, headers: req.headers, signal: gone.signal, ...body }));
  res.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body) Readable.fromWeb(answer.body).on('error', () => res.destroy()).pipe(res);
  else res.end();
});
server.listen(0, '127.0.0.1', () => console.log(`${address()}/mcp`));

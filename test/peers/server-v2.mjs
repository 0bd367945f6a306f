// A server on @modelcontextprotocol/server, of the modern era alone, that asks
// by form, URL, sampling and roots; it prints its URL when it listens.
import { createMcpHandler, McpServer, inputRequired } from '@modelcontextprotocol/server';
import { z } from 'zod';
import http from 'node:http';
import { Readable } from 'node:stream';

const ended = new Map();
const end = (key) => {
  if (!ended.has(key)) ended.set(key, Promise.withResolvers());
  return ended.get(key);
};
const text = (s) => ({ content: [{ type: 'text', text: s }] });

const factory = () => {
  const server = new McpServer({ name: 'server-v2', version: '1.0.0' }, { capabilities: { tools: {} } });
  const tool = (name, shape, run) => server.registerTool(name, { description: name, inputSchema: z.object(shape) }, run);
  const asks = (name, question) => tool(name, {}, async (_args, ctx) => {
    const answer = ctx.mcpReq.inputResponses?.[name];
    if (!answer) return inputRequired({ inputRequests: { [name]: question() }, requestState: `state-${name}` });
    return text(JSON.stringify({ answer, state: await ctx.mcpReq.requestState?.() }));
  });
  asks('form', () => inputRequired.elicit({ message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } }));
  asks('url', () => inputRequired.elicitUrl({ message: 'Open', url: 'https://example.com/auth?x=1' }));
  asks('sampling', () => inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: 'Capital?' } }], maxTokens: 10 }));
  asks('roots', () => ({ ...inputRequired.listRoots(), params: {} })); // go-sdk cannot read it without params
  const progress = async (steps, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let i = 1; i <= steps; i++) await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: i, total: steps } });
  };
  tool('echo', { text: z.string() }, async (args) => text(args.text));
  tool('progress', { steps: z.number() }, async (args, ctx) => {
    await progress(args.steps, ctx);
    return text('done');
  });
  tool('block', { key: z.string() }, async (args, ctx) => {
    const { promise, resolve } = Promise.withResolvers();
    ctx.mcpReq.signal.addEventListener('abort', resolve);
    await progress(1, ctx);
    await promise;
    end(args.key).resolve();
    return text('aborted');
  });
  tool('ended', { key: z.string() }, async (args) => {
    await end(args.key).promise;
    return text(`ended ${args.key}`);
  });
  return server;
};

const handler = createMcpHandler(factory, { legacy: 'reject' });
const server = http.createServer(async (req, res) => {
  const gone = new AbortController();
  res.on('close', () => gone.abort());
  const body = req.method === 'GET' || req.method === 'HEAD' ? {} : { body: Readable.toWeb(req), duplex: 'half' };
  const answer = await handler.fetch(new Request(`http://${req.headers.host}${req.url}`, { method: req.method, headers: req.headers, signal: gone.signal, ...body }));
  res.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body) Readable.fromWeb(answer.body).on('error', () => res.destroy()).pipe(res);
  else res.end();
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));

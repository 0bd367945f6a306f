// A server on @modelcontextprotocol/server, of both eras, that asks by form,
// URL and sampling: server-v2.mjs PORT; it prints its URL when it listens.
import { createMcpHandler, McpServer, inputRequired } from '@modelcontextprotocol/server';
import { z } from 'zod';
import http from 'node:http';
import { Readable } from 'node:stream';

const factory = () => {
  const server = new McpServer({ name: 'server-v2', version: '1.0.0' }, { capabilities: { tools: {} } });
  const asks = (name, key, question) => server.registerTool(name, { description: name, inputSchema: z.object({}) }, async (_args, ctx) => {
    const answer = ctx.mcpReq.inputResponses?.[key];
    if (!answer) return inputRequired({ inputRequests: { [key]: question() }, requestState: `state-${key}` });
    return { content: [{ type: 'text', text: JSON.stringify({ answer, state: await ctx.mcpReq.requestState?.() }) }] };
  });
  asks('ask_form', 'f', () => inputRequired.elicit({ message: 'name?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } }));
  asks('ask_url', 'u', () => inputRequired.elicitUrl({ message: 'open', url: 'https://example.com/auth?x=1' }));
  asks('ask_sample', 's', () => inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: 'capital?' } }], maxTokens: 10 }));
  return server;
};
const handler = createMcpHandler(factory);
const server = http.createServer(async (req, res) => {
  const body = req.method === 'GET' || req.method === 'HEAD' ? {} : { body: Readable.toWeb(req), duplex: 'half' };
  const answer = await handler.fetch(new Request(`http://${req.headers.host}${req.url}`, { method: req.method, headers: req.headers, ...body }));
  res.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body) Readable.fromWeb(answer.body).pipe(res);
  else res.end();
});
server.listen(Number(process.argv[2]) || 0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));

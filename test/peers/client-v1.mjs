// A client on @modelcontextprotocol/sdk, of the legacy era only:
// client-v1.mjs URL|"stdio:COMMAND ARGS" JOBS; jobs and output as client-v2.mjs.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema, CreateMessageRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [target, jobs] = process.argv.slice(2);
const client = new Client({ name: 'peer-v1', version: '1.0.0' }, {
  capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } },
});

let asked = [];
let form = {};
client.setRequestHandler(ElicitRequestSchema, async (r) => {
  asked.push(r.params.mode === 'url' ? `url ${r.params.url}` : `form ${Object.keys(r.params.requestedSchema.properties)}`);
  return r.params.mode === 'url' ? { action: 'accept' } : form;
});
client.setRequestHandler(CreateMessageRequestSchema, async (r) => {
  asked.push(`sampling ${r.params.maxTokens}`);
  return { role: 'assistant', model: 'stub-model', content: { type: 'text', text: 'stub answer' } };
});
client.setRequestHandler(ListRootsRequestSchema, async () => {
  asked.push('roots');
  return { roots: [{ uri: 'file:///project', name: 'project' }] };
});

let transport;
if (target.startsWith('stdio:')) {
  const [command, ...args] = target.slice('stdio:'.length).split(' ');
  transport = new StdioClientTransport({ command, args, stderr: 'ignore' });
} else {
  transport = new StreamableHTTPClientTransport(new URL(target));
}
await client.connect(transport);
const out = { era: 'legacy', version: transport.protocolVersion, tools: [], results: [] };
out.tools = (await client.listTools()).tools.map((t) => t.name);
for (const job of JSON.parse(jobs)) {
  asked = [];
  form = job.form ?? { action: 'accept', content: {} };
  const progress = [];
  const entry = { tool: job.tool, asked, progress };
  try {
    entry.result = await client.callTool({ name: job.tool, arguments: job.args ?? {} }, undefined, { onprogress: (p) => progress.push(p.progress) });
  } catch (e) {
    entry.error = { code: e.code, message: e.message, data: e.data };
  }
  out.results.push(entry);
}
await client.close();
console.log(JSON.stringify(out));

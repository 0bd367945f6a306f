// A client on @modelcontextprotocol/client: client-v2.mjs URL legacy|modern|auto JOBS
// JOBS is a JSON array of {tool, args, form}; the output is one JSON object:
// what was negotiated, the tools seen, and for each job its result or error
// and the questions that it was asked.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, era, jobs] = process.argv.slice(2);
const mode = era === 'modern' ? { pin: '2026-07-28' } : era;
const client = new Client({ name: 'peer-v2', version: '1.0.0' }, {
  capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } },
  versionNegotiation: { mode },
});

let asked = [];
let form = {};
client.setRequestHandler('elicitation/create', async (r) => {
  asked.push(r.params.mode === 'url' ? `url ${r.params.url}` : `form ${Object.keys(r.params.requestedSchema.properties)}`);
  return r.params.mode === 'url' ? { action: 'accept' } : form;
});
client.setRequestHandler('sampling/createMessage', async (r) => {
  asked.push(`sampling ${r.params.maxTokens}`);
  return { role: 'assistant', model: 'stub-model', stopReason: 'endTurn', content: { type: 'text', text: 'stub answer' } };
});
client.setRequestHandler('roots/list', async () => {
  asked.push('roots');
  return { roots: [{ uri: 'file:///project', name: 'project' }] };
});

await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const out = { era: client.getProtocolEra(), version: client.getNegotiatedProtocolVersion(), tools: [], results: [] };
out.tools = (await client.listTools()).tools.map((t) => t.name);
for (const job of JSON.parse(jobs)) {
  asked = [];
  form = job.form ?? { action: 'accept', content: {} };
  const progress = [];
  const entry = { tool: job.tool, asked, progress };
  try {
    entry.result = await client.callTool({ name: job.tool, arguments: job.args ?? {} }, { onprogress: (p) => progress.push(p.progress) });
  } catch (e) {
    entry.error = { code: e.code, message: e.message, data: e.data };
  }
  out.results.push(entry);
}
await client.close();
console.log(JSON.stringify(out));

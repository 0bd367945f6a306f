// A client on @modelcontextprotocol/client, of the era that its target names:
// legacy, modern or auto. The plan that it takes is explained in drive.mjs.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { drive } from './drive.mjs';

await drive(async (target, handlers) => {
  const client = new Client({ name: 'peer-v2', version: '1.0.0' }, {
    capabilities: target.mute ? {} : { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } },
    versionNegotiation: { mode: target.era === 'modern' ? { pin: '2026-07-28' } : target.era },
  });
  if (!target.mute) {
    client.setRequestHandler('elicitation/create', (r, ctx) => handlers.elicit(r.params, ctx?.mcpReq?.signal));
    client.setRequestHandler('sampling/createMessage', (r, ctx) => handlers.sample(r.params, ctx?.mcpReq?.signal));
    client.setRequestHandler('roots/list', () => handlers.roots());
  }
  client.setNotificationHandler('notifications/message', (n) => handlers.log(n.params));
  client.setNotificationHandler('notifications/resources/updated', (n) => handlers.updated(n.params));
  client.setNotificationHandler('notifications/elicitation/complete', (n) => handlers.complete(n.params));
  await client.connect(target.url
    ? new StreamableHTTPClientTransport(new URL(target.url))
    : new StdioClientTransport({ command: target.command[0], args: target.command.slice(1), stderr: 'inherit' }));
  return {
    client,
    negotiated: () => ({ era: client.getProtocolEra(), version: client.getNegotiatedProtocolVersion() }),
    call: (params, options) => client.callTool(params, { ...options, onprogress: (p) => told(p) && options.onprogress(p) }),
  };
});

// told says whether a server told of progress: the SDK reports each round as
// well, at a moment when no request is open that could be cancelled.
function told({ message }) {
  return !message?.startsWith('Fulfilling input required by ');
}

// A client on @modelcontextprotocol/sdk, of the legacy era only. The plan that
// it takes is explained in drive.mjs.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { drive } from './drive.mjs';

await drive(async (target, handlers) => {
  const client = new Client({ name: 'peer-v1', version: '1.0.0' }, {
    capabilities: target.mute ? {} : { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } },
  });
  if (!target.mute) {
    client.setRequestHandler(types.ElicitRequestSchema, (r, { signal }) => handlers.elicit(r.params, signal));
    client.setRequestHandler(types.CreateMessageRequestSchema, (r, { signal }) => handlers.sample(r.params, signal));
    client.setRequestHandler(types.ListRootsRequestSchema, () => handlers.roots());
  }
  client.setNotificationHandler(types.LoggingMessageNotificationSchema, (n) => handlers.log(n.params));
  client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, (n) => handlers.updated(n.params));
  client.setNotificationHandler(types.ElicitationCompleteNotificationSchema, (n) => handlers.complete(n.params));
  let version;
  const transport = target.url
    ? new StreamableHTTPClientTransport(new URL(target.url))
    : new StdioClientTransport({ command: target.command[0], args: target.command.slice(1), stderr: 'inherit' });
  const setVersion = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (v) => {
    version = v;
    setVersion?.(v);
  };
  await client.connect(transport);
  return {
    client,
    negotiated: () => ({ era: 'legacy', version }),
    call: (params, options) => client.callTool(params, undefined, options),
  };
});

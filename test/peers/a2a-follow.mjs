// A client on @a2a-js/sdk that has a gateway run a tool, and waits: it answers
// nothing. It prints a line of JSON for each status, with what was said and the
// address to open, where there is one, and for what the tool gave. Its
// arguments are the address of the agent, the tool, and an access token.
import { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import { data, TaskState, user, values, words } from './a2a.mjs';

const [url, tool, token] = process.argv.slice(2);
const fetchImpl = (to, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set('Authorization', `Bearer ${token}`);
  return fetch(to, { ...init, headers });
};
const factory = new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
  transports: [new JsonRpcTransportFactory({ fetchImpl })],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
}));
const client = await factory.createFromUrl(`${url}/`);
const print = (line) => console.log(JSON.stringify(line));
for await (const { payload } of client.sendMessageStream({ message: user([data({ tool })]), tenant: '', metadata: {} })) {
  const { $case, value: event } = payload;
  if ($case === 'artifactUpdate') print({ artifact: words(event.artifact.parts) });
  const { state, message } = event.status ?? {};
  if (state !== undefined) print({ state: TaskState[state], said: words(message?.parts), url: values(message?.parts)[0]?.url });
}
print({ state: 'over' });

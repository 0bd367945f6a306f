// An OpenID provider on oidc-provider, with three people: ann and cyn, who are
// approvers, and bob, who is not. Their passwords are their names with
// "-password". It prints its issuer when it listens. Loopback redirects may
// have any port, as RFC 8252 has it, so the gateway can listen on any. Clients
// may register themselves, and get refresh tokens, which rotate.
//
// The arguments are the secret of the gateway's pages, and the host to listen
// on. At a host other than localhost people are asked for their consent, as by
// a third party. After them may come the address at which others find it, where
// something stands before it (it then prints its own), and for how many seconds
// an access token is good that was not got by a refresh.
import http from 'node:http';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import Provider, { errors, interactionPolicy } from 'oidc-provider';

const people = {
  ann: { sub: 'u-ann', name: 'Ann Example', groups: ['approvers', 'staff'] },
  cyn: { sub: 'u-cyn', name: 'Cyn Example', groups: ['approvers'] },
  bob: { sub: 'u-bob', name: 'Bob Example', groups: ['staff'] },
};
const bySub = (sub) => Object.values(people).find((p) => p.sub === sub);

const server = http.createServer((req, res) => {
  serve(req, res).catch((err) => {
    console.error(err);
    res.writeHead(err.statusCode ?? 500).end(String(err.message));
  });
});
// Another site than the gateway's, which is at 127.0.0.1, as providers are.
const [secret, host = 'localhost', outside, life = 600] = process.argv.slice(2);
const third = host !== 'localhost';
await new Promise((ready) => server.listen(0, third ? host : '127.0.0.1', ready));
const address = `http://${host}:${server.address().port}`;
const issuer = outside ?? address;

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const policy = interactionPolicy.base();
if (!third) policy.remove('consent'); // everything that a client wants is granted
const loopback = (path) => [`http://127.0.0.1${path}`];
const provider = new Provider(issuer, {
  clients: [
    // The gateway's pages; the secret is the first argument.
    { client_id: 'answerback', client_secret: secret, application_type: 'native', redirect_uris: loopback('/signin/callback') },
    // Whoever calls the gateway.
    { client_id: 'caller', token_endpoint_auth_method: 'none', application_type: 'native', redirect_uris: loopback('/callback') },
  ],
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: randomUUID() }] },
  cookies: { keys: [randomUUID()] },
  claims: { openid: ['sub'], profile: ['name', 'groups'] },
  conformIdTokenClaims: false, // claims of scopes are in the ID token
  pkce: { required: () => true },
  findAccount: (_ctx, sub) => bySub(sub) && { accountId: sub, claims: () => bySub(sub) },
  issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
  ttl: { AccessToken: (ctx) => (ctx.oidc.params.grant_type === 'refresh_token' ? 600 : Number(life)), RefreshToken: 86400, Grant: 86400, Session: 86400, Interaction: 600, IdToken: 600 },
  extraTokenClaims: (_ctx, token) => ({ groups: bySub(token.accountId)?.groups }),
  features: {
    devInteractions: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource) => {
        if (!/^http:\/\/127\.0\.0\.1:\d+\/(mcp|elsewhere)$/.test(resource)) throw new errors.InvalidTarget();
        return { scope: 'mcp', audience: resource, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } };
      },
    },
  },
  interactions: { policy, url: (_ctx, { uid }) => `/login/${uid}` },
  loadExistingGrant: async ({ oidc }) => {
    const known = oidc.result?.consent?.grantId;
    if (third) return known && provider.Grant.find(known);
    return agree(oidc.client.clientId, oidc.session.accountId, Object.keys(oidc.resourceServers));
  },
});

async function agree(clientId, accountId, resources) {
  const grant = new provider.Grant({ clientId, accountId });
  grant.addOIDCScope('openid profile offline_access');
  for (const resource of resources) grant.addResourceScope(resource, 'mcp');
  await grant.save();
  return grant;
}
const flow = provider.callback();

async function serve(req, res) {
  if (!req.url.startsWith('/login/')) return flow(req, res);
  const { uid, prompt, params, session } = await provider.interactionDetails(req, res);
  if (prompt.name === 'consent') return consent(req, res, uid, params, session.accountId);
  if (req.method === 'POST') {
    const posted = new URLSearchParams(Buffer.concat(await req.toArray()).toString());
    const name = posted.get('name');
    if (posted.get('password') === `${name}-password` && people[name]) {
      return provider.interactionFinished(req, res, { login: { accountId: people[name].sub } });
    }
  }
  res.setHeader('Content-Type', 'text/html; charset=utf-8');
  res.end(`<!doctype html><title>Log in</title><link rel="icon" href="data:,"><h1>Log in</h1>
<form method="post" action="/login/${uid}">
<label>Name <input name="name"></label> <label>Password <input name="password" type="password"></label>
<button>Log in</button></form>`);
}

async function consent(req, res, uid, params, accountId) {
  if (req.method === 'POST') {
    const posted = new URLSearchParams(Buffer.concat(await req.toArray()).toString());
    if (posted.get('do') !== 'allow') return provider.interactionFinished(req, res, { error: 'access_denied' });
    const grant = await agree(params.client_id, accountId, [params.resource].flat());
    return provider.interactionFinished(req, res, { consent: { grantId: grant.jti ?? (await grant.save()) } }, { mergeWithLastSubmission: true });
  }
  const client = await provider.Client.find(params.client_id);
  const safe = (text) => String(text).replace(/[^\w ./:-]/g, '');
  res.setHeader('Content-Type', 'text/html; charset=utf-8');
  res.end(`<!doctype html><title>Consent</title><link rel="icon" href="data:,"><h1>Allow ${safe(client.clientName)}?</h1>
<p>It wants ${safe(params.scope)} at ${safe(params.resource)}.</p>
<form method="post" action="/login/${uid}"><button name="do" value="allow">Allow</button> <button name="do" value="refuse">Refuse</button></form>`);
}

console.log(address);

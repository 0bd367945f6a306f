// An OpenID provider on oidc-provider, with three people: ann and cyn, who are
// approvers, and bob, who is not. Their passwords are their names with
// "-password". It prints its issuer when it listens. Loopback redirects may
// have any port, as RFC 8252 has it, so the gateway can listen on any. Clients
// may register themselves, and get refresh tokens, which rotate.
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
await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
// Another site than the gateway's, which is at 127.0.0.1, as providers are.
const issuer = `http://localhost:${server.address().port}`;

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
// Nobody is asked for consent: everything that a client wants is granted.
const policy = interactionPolicy.base();
policy.remove('consent');
const loopback = (path) => [`http://127.0.0.1${path}`];
const provider = new Provider(issuer, {
  clients: [
    // The gateway's pages; the secret is the first argument.
    { client_id: 'answerback', client_secret: process.argv[2], application_type: 'native', redirect_uris: loopback('/signin/callback') },
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
  ttl: { AccessToken: 600, RefreshToken: 86400, Grant: 86400, Session: 86400, Interaction: 600, IdToken: 600 },
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
        return { scope: 'mcp', audience: resource, accessTokenTTL: 600, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } };
      },
    },
  },
  interactions: { policy, url: (_ctx, { uid }) => `/login/${uid}` },
  loadExistingGrant: async ({ oidc }) => {
    const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope('openid profile');
    for (const resource of Object.keys(oidc.resourceServers)) grant.addResourceScope(resource, 'mcp');
    await grant.save();
    return grant;
  },
});
const flow = provider.callback();

async function serve(req, res) {
  if (!req.url.startsWith('/login/')) return flow(req, res);
  if (req.method === 'POST') {
    const posted = new URLSearchParams(Buffer.concat(await req.toArray()).toString());
    const name = posted.get('name');
    if (posted.get('password') === `${name}-password` && people[name]) {
      return provider.interactionFinished(req, res, { login: { accountId: people[name].sub } });
    }
  }
  const { uid } = await provider.interactionDetails(req, res);
  res.setHeader('Content-Type', 'text/html; charset=utf-8');
  res.end(`<!doctype html><title>Log in</title><link rel="icon" href="data:,"><h1>Log in</h1>
<form method="post" action="/login/${uid}">
<label>Name <input name="name"></label> <label>Password <input name="password" type="password"></label>
<button>Log in</button></form>`);
}

console.log(issuer);

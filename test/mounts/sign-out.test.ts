import { expect, it } from 'vitest';
import { openTestStoreHere } from '../operator/open-test-store-here.ts';
import { createOwner, openSignIns, startAuthority } from './start-authority.ts';

const start = async (metadata: Record<string, unknown> = {}) => {
  const store = await openTestStoreHere();
  const owner = await createOwner(store);
  const server = await startAuthority();
  server.authority.metadata = { revocation_endpoint: `${server.origin}/revoke`, ...metadata };
  const open = (more: Partial<Parameters<typeof openSignIns>[1]> = {}) =>
    openSignIns(server.origin, { store, owner, ...more });
  return { ...server, store, owner, open };
};

it('removes the tokens, and then tells the authorization server of both', async () => {
  const { open, owner, revoked, seen } = await start();
  const { signIn, end, lacks } = open();
  await signIn();
  expect(await end(owner)).toBe(true);
  expect(await lacks()).toBe(true);
  expect(revoked().map((body) => Object.fromEntries(new URLSearchParams(body)))).toEqual([
    { token: 'refresh-1', token_type_hint: 'refresh_token', client_id: 'us' },
    { token: 'access-1', token_type_hint: 'access_token', client_id: 'us' },
  ]);
  expect(seen.at(-1)?.headers.authorization).toBeUndefined();
  expect(await end(owner)).toBe(false);
  expect(revoked()).toHaveLength(2);
});

it.each([
  [undefined, `Basic ${btoa('ours:our secret')}`, null],
  [['client_secret_post'], undefined, 'our secret'],
])('names the gateway as the authorization server wants it (%j)', async (methods, header, secret) => {
  const { origin, open, owner, revoked, seen } = await start({
    revocation_endpoint_auth_methods_supported: methods,
  });
  const { signIn, end } = open({ oauth: { client_id: 'ours', secret: 'our secret', issuer: origin } });
  await signIn();
  await end(owner);
  expect(seen.at(-1)?.headers.authorization).toBe(header);
  expect(new URLSearchParams(revoked()[0]).get('client_secret')).toBe(secret);
});

it.each([
  ['names no address for it', undefined],
  ['is at a private address', 'https://10.0.0.1/revoke'],
  ['fails', '/broken'],
])('is not held up by an authorization server that %s', async (_what, endpoint) => {
  const { authority, origin, open, owner } = await start();
  const address = endpoint?.startsWith('/') === true ? origin + endpoint : endpoint;
  authority.metadata = { revocation_endpoint: address };
  const { signIn, end, lacks, lines } = open();
  await signIn();
  expect([await end(owner), await lacks()]).toEqual([true, true]);
  expect(lines).toHaveLength(endpoint === undefined ? 0 : 1);
  expect(JSON.stringify(lines)).not.toContain('refresh-1');
});

it('ends a sign-in that was only begun, and one that counts no more, of which no server is told', async () => {
  const { open, owner, revoked, store } = await start();
  const { begin, finish, end, signIn } = open();
  const { address, cookie } = await begin();
  expect(await end(owner)).toBe(true);
  const state = new URL(address).searchParams.get('state') ?? '';
  await expect(finish(new URLSearchParams({ state, code: 'c' }), cookie)).rejects.toThrow('took more');
  await signIn();
  expect(await open({ oauth: { client_id: 'another' } }).end(owner)).toBe(true);
  expect(await store.listToolSecrets(owner)).toEqual([]);
  expect(revoked()).toEqual([]);
});

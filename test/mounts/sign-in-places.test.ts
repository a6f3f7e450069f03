import { expect, it } from 'vitest';
import { openTestStoreHere } from '../operator/open-test-store-here.ts';
import { createOwner, openSignIns, startAuthority } from './start-authority.ts';

const openHere = async (origin: string, more: Partial<Parameters<typeof openSignIns>[1]> = {}) => {
  const store = await openTestStoreHere();
  const owner = await createOwner(store);
  return openSignIns(origin, { store, owner, ...more });
};

it('leads people to the issuer that the operator names, wherever the server would lead them', async () => {
  const stranger = await startAuthority();
  const { origin, authority, asked } = await startAuthority();
  authority.named = stranger.origin;
  const { begin, signIn } = await openHere(origin, { oauth: { issuer: origin } });
  const { address } = await begin();
  expect(new URL(address).origin).toBe(origin);
  expect(new URL(address).searchParams.get('resource')).toBe(`${origin}/mcp`);
  await signIn();
  expect(asked()).toHaveLength(1);
  expect(stranger.seen).toEqual([]);
});

it.each(['ms-word:ofe|u|https://evil.example.com/a.docx', 'http://evil.example.com/authorize'])(
  'leads nobody to %s',
  async (address) => {
    const { origin, authority } = await startAuthority();
    authority.metadata = { authorization_endpoint: address };
    const { begin } = await openHere(origin);
    await expect(begin()).rejects.toThrow('no https address');
  },
);

it('wants to hear of PKCE from an authorization server that the operator does not name', async () => {
  const { origin, authority } = await startAuthority();
  authority.metadata = { code_challenge_methods_supported: undefined };
  const { begin } = await openHere(origin);
  await expect(begin()).rejects.toThrow('PKCE');
  const named = await openHere(origin, { oauth: { issuer: origin } });
  await expect(named.begin()).resolves.toMatchObject({ address: expect.any(String) });
});

it.each(['', 'two words', 'one\r\nx-more: 1', 'é'])(
  'takes no token that no header can have: %j',
  async (token) => {
    const { origin, authority } = await startAuthority();
    authority.tokens = { access_token: token };
    const { signIn, lacks } = await openHere(origin);
    await expect(signIn()).rejects.toThrow('no token');
    expect(await lacks()).toBe(true);
  },
);

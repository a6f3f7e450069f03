import { describe, expect, it } from 'vitest';
import { createSecretVault } from '../../src/mounts/secret-vault.ts';
import type { Store } from '../../src/store/store.ts';
import { testEngines } from '../store/open-test-store.ts';
import { createDyingStore, startAuthority, useSignIns, type Authority } from './start-authority.ts';

const dayMs = 86_400_000;

describe.each(testEngines())('the tokens of a sign-in on $kind', ({ create }) => {
  const { data, owner, open } = useSignIns(create);

  it('are asked for with PKCE, for the resource, with the scopes that the server asks for', async () => {
    const { origin, asked } = await startAuthority();
    const { begin, finish, give } = open(origin);
    const { address, cookie } = await begin();
    const { searchParams, pathname } = new URL(address);
    expect(pathname).toBe('/authorize');
    const state = searchParams.get('state') ?? '';
    expect(Object.fromEntries(searchParams)).toEqual({
      response_type: 'code',
      client_id: 'us',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      redirect_uri: 'https://gateway.example.com/oauth/tools/notes/callback',
      scope: 'read notes',
      state: expect.stringMatching(/^\w{43}$/),
      resource: `${origin}/mcp`,
    });
    await finish(new URLSearchParams({ state, code: 'the code' }), cookie);
    const sent = new URLSearchParams(asked()[0]);
    expect(sent.get('code_verifier')).toMatch(/^[\w.~-]{43,128}$/);
    expect(sent.get('resource')).toBe(`${origin}/mcp`);
    expect(await give(null)).toBe('access-1');
  });

  it('are not given for a sign-in that took too long, nor for an earlier one', async () => {
    const { origin } = await startAuthority();
    const { begin, finish, clock } = open(origin);
    const back = ({ address }: { address: string }) =>
      new URLSearchParams({ code: 'c', state: new URL(address).searchParams.get('state') ?? '' });
    const first = await begin();
    const second = await begin();
    await expect(finish(back(first), first.cookie)).rejects.toThrow('took more');
    clock.ms = 600_000;
    await expect(finish(back(second), second.cookie)).rejects.toThrow('took more');
  });

  it('are renewed before their end, and when the server refuses one', async () => {
    const { origin, asked } = await startAuthority();
    const { give, signIn, clock } = open(origin);
    await signIn();
    expect(await give(null)).toBe('access-1');
    clock.ms = 3_580_000;
    expect(await give(null)).toBe('access-2');
    expect(await give('access-2')).toBe('access-3');
    // A late refusal of an earlier token is no reason for another one.
    expect(await give('access-2')).toBe('access-3');
    expect(asked().map((body) => new URLSearchParams(body).get('refresh_token'))).toEqual([
      null,
      'refresh-1',
      'refresh-2',
    ]);
  });

  it('are renewed by one of two gateways, for all calls of both', async () => {
    const { origin, asked } = await startAuthority();
    const first = open(origin);
    const second = open(origin, { store: await data().openAnother() });
    await first.signIn();
    const calls = [first, second, first, second].map(({ give }) => give('access-1'));
    expect(await Promise.all(calls)).toEqual(Array(4).fill('access-2'));
    expect(asked()).toHaveLength(2);
  });

  it('are renewed by another gateway, if the one that began to has died', async () => {
    const { origin, authority } = await startAuthority();
    const died = open(origin);
    await died.signIn();
    const dying = createDyingStore(data().store);
    authority.answer = { body: {}, status: 503 };
    void open(origin, { store: dying.store }).give('access-1');
    await expect.poll(dying.writes, { timeout: 20_000 }).toBe(2);
    authority.answer = undefined;
    const other = open(origin);
    other.clock.ms = 120_000;
    expect(await other.give('access-1')).toBe('access-2');
  });

  it('are written although the store fails for a while after they were renewed', async () => {
    const { origin } = await startAuthority();
    let failures = 2;
    let writes = 0;
    const failing: Store = Object.assign(Object.create(data().store) as Store, {
      setToolSecret: (row: Parameters<Store['setToolSecret']>[0]) => {
        writes += 1;
        if (writes === 1 || failures === 0) return data().store.setToolSecret(row);
        failures -= 1;
        return Promise.reject(new Error('the store is away'));
      },
    });
    await open(origin).signIn();
    const gateway = open(origin, { store: failing });
    expect(await gateway.give('access-1')).toBe('access-2');
    expect(await gateway.give('access-2')).toBe('access-3');
  });

  it('go when the authorization server has ended the grant, and stay when it fails', async () => {
    const { origin, authority } = await startAuthority();
    const { give, signIn, lacks, lines } = open(origin);
    await signIn();
    authority.answer = { body: { error: 'temporarily_unavailable' }, status: 503 };
    await expect(give('access-1')).rejects.toThrow('there is no new token');
    expect(await lacks()).toBe(false);
    authority.answer = { body: { error: 'invalid_grant', error_description: 'the refresh-1' }, status: 400 };
    await expect(give('access-1')).rejects.toThrow('there is no new token');
    expect(await lacks()).toBe(true);
    await expect(give(null)).rejects.toThrow('has not signed in');
    expect(JSON.stringify(lines)).not.toContain('refresh-1');
    expect(lines).toContainEqual(expect.objectContaining({ isOver: true }));
  });

  it('do not come back when the account signs out while they are renewed', async () => {
    const { origin } = await startAuthority();
    const vault = createSecretVault(data().store, ['0a'.repeat(32)]);
    const leaving: Store = Object.assign(Object.create(data().store) as Store, {
      setToolSecret: async (row: Parameters<Store['setToolSecret']>[0]) => {
        const isRenewed = leavingNow.is;
        if (isRenewed) await vault.set({ ...owner(), name: 'sign-in' }, null);
        leavingNow.is = true;
        return data().store.setToolSecret(row);
      },
    });
    const leavingNow = { is: false };
    const first = open(origin);
    await first.signIn();
    const { give, lacks } = open(origin, { store: leaving });
    await expect(give('access-1')).rejects.toThrow('has not signed in');
    expect(await lacks()).toBe(true);
  });

  it.each<[string, (origin: string, authority: Authority) => void, string]>([
    ['is at a private address', (_, one) => (one.named = 'https://10.0.0.1'), 'not a public address'],
    [
      'has tokens at a private address',
      (_, one) => (one.metadata = { registration_endpoint: 'https://10.0.0.1/r' }),
      'not a public address',
    ],
    [
      'names another issuer',
      (_, one) => (one.metadata = { issuer: 'https://honest.example.com' }),
      'the name of another',
    ],
    [
      'registers no gateways',
      (_, one) => (one.metadata = { registration_endpoint: undefined }),
      'wrong form',
    ],
    ['takes no PKCE', (_, one) => (one.metadata = { code_challenge_methods_supported: ['plain'] }), 'PKCE'],
  ])('are not asked for where the authorization server %s', async (_what, change, problem) => {
    const { origin, authority, asked } = await startAuthority();
    change(origin, authority);
    await expect(open(origin).begin()).rejects.toThrow(problem);
    expect(asked()).toEqual([]);
  });

  it('are asked for with the secret of the operator at the issuer that the operator names, and nowhere else', async () => {
    const { origin, authority, asked } = await startAuthority();
    const oauth = { client_id: 'ours', secret: 'our secret', issuer: origin };
    await open(origin, { oauth }).signIn();
    expect(asked()).toHaveLength(1);
    const stranger = await startAuthority();
    authority.named = stranger.origin;
    await open(origin, { oauth, isPrivate: false }).signIn();
    expect(asked()).toHaveLength(2);
    expect(stranger.seen).toEqual([]);
  });

  it('end after a day for a server that gives no refresh token', async () => {
    const { origin, authority } = await startAuthority();
    authority.answer = {
      body: { access_token: 'only', token_type: 'Bearer', expires_in: 86_400 },
      status: 200,
    };
    const { give, signIn, clock, lacks } = open(origin);
    await signIn();
    expect(await give(null)).toBe('only');
    clock.ms = dayMs;
    await expect(give(null)).rejects.toThrow('there is no new token');
    expect(await lacks()).toBe(true);
  });
});

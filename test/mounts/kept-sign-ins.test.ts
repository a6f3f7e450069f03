import { describe, expect, it } from 'vitest';
import { testEngines } from '../store/open-test-store.ts';
import { createDyingStore, startAuthority, useSignIns } from './start-authority.ts';

const unavailable = { body: { error: 'temporarily_unavailable' }, status: 503 };

describe.each(testEngines())('a sign-in that is kept on $kind', ({ create }) => {
  const { data, owner, open } = useSignIns(create);
  const lacks = async ({ list }: ReturnType<typeof open>): Promise<boolean> =>
    (await list(owner(), ['sign-in'])).length === 0;

  it('counts for its own address, issuer and client alone', async () => {
    const { origin } = await startAuthority();
    const other = await startAuthority();
    const gateway = open(origin);
    await gateway.signIn();
    expect(await lacks(gateway)).toBe(false);
    for (const later of [
      open(other.origin),
      open(origin, { oauth: { issuer: other.origin } }),
      open(origin, { oauth: { client_id: 'ours' } }),
    ]) {
      await expect(later.give(null)).rejects.toThrow('has not signed in');
      expect(await lacks(later)).toBe(true);
    }
    expect(await open(origin).give(null)).toBe('access-1');
  });

  it('is not finished at another address than the one where it began', async () => {
    const { origin } = await startAuthority();
    const other = await startAuthority();
    const { address, cookie } = await open(origin).begin();
    const state = new URL(address).searchParams.get('state') ?? '';
    const back = new URLSearchParams({ state, code: 'the code' });
    const later = open(other.origin);
    await expect(later.finish(back, cookie)).rejects.toThrow('took more');
    expect(other.asked()).toEqual([]);
  });

  it('without a refresh token lasts as long as its token', async () => {
    const { origin, authority } = await startAuthority();
    authority.tokens = { refresh_token: undefined };
    const { give, signIn, clock, lacks: isSignedOut } = open(origin);
    await signIn();
    clock.ms = 3_500_000;
    expect(await give(null)).toBe('access-1');
    clock.ms = 3_600_000;
    await expect(give(null)).rejects.toThrow('there is no new token');
    expect(await isSignedOut()).toBe(true);
  });

  it('is used up to the end of its token while that cannot be renewed, and then not lost', async () => {
    const { origin, authority, asked } = await startAuthority();
    const { give, signIn, clock } = open(origin);
    await signIn();
    authority.answer = unavailable;
    clock.ms = 1_900_000;
    expect(await give(null)).toBe('access-1');
    expect(await give(null)).toBe('access-1');
    // It is asked once now, and not for each call.
    expect(asked()).toHaveLength(2);
    await expect(give('access-1')).rejects.toThrow('there is no new token');
    clock.ms = 3_600_000;
    await expect(give(null)).rejects.toThrow('there is no new token');
    authority.answer = undefined;
    expect(await give(null)).toBe('access-2');
  });

  it('does not keep calls waiting while a token that still counts is renewed', async () => {
    const { origin } = await startAuthority();
    await open(origin).signIn();
    const dying = createDyingStore(data().store);
    const slow = open(origin, { store: dying.store });
    slow.clock.ms = 1_900_000;
    void slow.give(null);
    await expect.poll(dying.writes, { timeout: 20_000 }).toBe(2);
    const other = open(origin);
    other.clock.ms = 1_900_000;
    expect(await other.give(null)).toBe('access-1');
  });

  it('whose tokens end at once is renewed once for a call', async () => {
    const { origin, authority, asked } = await startAuthority();
    authority.tokens = { expires_in: 0 };
    const { give, signIn } = open(origin);
    await signIn();
    expect(await give(null)).toBe('access-2');
    expect(asked()).toHaveLength(2);
  });
});

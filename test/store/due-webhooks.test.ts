import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDueRounds } from '../../src/jobs/webhooks/due-rounds.ts';
import type { DueWebhook, Store } from '../../src/store/store.ts';
import { announceToMany } from './announce-to-many.ts';
import { addAccount, start } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

describe.each(testEngines())('a look at due webhook events on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  let busy: string;
  let other: string;
  const host = 'https://busy.example';
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
    [busy, other] = [(await addAccount(store)).accountId, (await addAccount(store)).accountId];
    await announceToMany(data, { accountId: busy, host, ports: 600, at: start - 9 });
  });
  afterAll(() => data.remove());

  const announce = async (accountId: string | null, url: string): Promise<string> => {
    const id = randomUUID();
    const event = 'webhook.test';
    await store.addWebhook({ id, accountId, event, jobId: null, url, body: '{}', now: start });
    return id;
  };
  /** What so many looks see, one after another; `mayMove`: the accounts whose receivers they go on to. */
  const lookOften = async (looks: number, mayMove = (_account: string) => true): Promise<DueWebhook[][]> => {
    const rounds = createDueRounds();
    const seen: DueWebhook[][] = [];
    while (seen.length < looks) {
      const found = await store.listDueWebhooks({ now: start, ...rounds.next() });
      rounds.moveOn(found, mayMove);
      seen.push(found.due);
    }
    return seen;
  };
  const urlsOf = (seen: DueWebhook[][]): Set<string> => new Set(seen.flat().map(({ url }) => url));

  it('sees a bounded number of receivers, and the next ones go on round all of them', async () => {
    const seen = await lookOften(4);
    expect(seen.map((due) => due.length)).toEqual([256, 256, 88, 256]);
    expect(urlsOf(seen.slice(0, 3)).size).toBe(600);
    expect(seen[3]).toEqual(seen[0]);
  });

  it('walks no more receivers where none is due', async () => {
    const early = await store.listDueWebhooks({ now: start - 10, after: '', places: [] });
    expect(early.due).toEqual([]);
    expect(early.accounts).toMatchObject([
      { account: busy, place: expect.stringContaining('busy.example:') },
    ]);
    const { place } = early.accounts[0] ?? {};
    const next = await store.listDueWebhooks({ now: start, after: '', places: [place ?? ''] });
    expect(next.due).toHaveLength(256);
    expect(next.accounts[0]?.place).not.toBe(place);
  });

  it('sees every account however many receivers another has, in any order of their ids', async () => {
    const id = await announce(other, 'https://other.example/');
    const alert = await announce(null, 'https://alerts.example/');
    for (const due of await lookOften(3)) {
      expect(due.length).toBeLessThanOrEqual(256);
      expect(due.map((event) => event.id)).toEqual(expect.arrayContaining([id, alert]));
    }
    expect(urlsOf(await lookOften(8)).size).toBe(602);
  });

  it('stays at the receivers of an account that may not move on', async () => {
    const seen = await lookOften(3, (account) => account !== busy);
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[2]).toEqual(seen[0]);
  });

  it('goes on to the next accounts, too, where there are more than it sees', async () => {
    const accounts = await Promise.all(Array.from({ length: 300 }, () => addAccount(store)));
    for (const { accountId } of accounts) {
      await announce(accountId, 'https://a.example/');
      await announce(accountId, 'https://b.example/');
    }
    const seen = await lookOften(4);
    for (const due of seen) expect(due.length).toBeLessThanOrEqual(256);
    const ids = seen.flat().map(({ accountId, url }) => `${accountId} ${url}`);
    for (const { accountId } of accounts)
      expect(ids).toEqual(
        expect.arrayContaining([`${accountId} https://a.example/`, `${accountId} https://b.example/`]),
      );
  });
});

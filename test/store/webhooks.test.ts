import { randomInt, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { StoreError } from '../../src/store/store-error.ts';
import type { Store, WebhookAttemptInput } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  available,
  deadJobError,
  finishing,
  opening,
  openJob,
  runningJob,
  start,
  type Owner,
} from './builders.ts';
import { claimDueWebhooks, listDueWebhooks } from './claim-due-webhooks.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const url = 'https://customer.example/hook?a=1';
const sender = 'sender-1';

describe.each(testEngines())('webhook events on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  let owner: Owner;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  beforeEach(async () => {
    owner = await addAccount(store, { balance: 100_000n });
  });
  afterEach(async () => {
    await assertSoundBooks(store);
    // Whatever a test left behind is stopped, so that the next one claims only its own events.
    for (;;) {
      const left = await claim({ now: start + 10 ** 9, limit: 100 });
      if (left.length === 0) return;
      for (const { id } of left) await store.recordWebhookAttempt(attempt(id, { state: 'stopped' }));
    }
  });
  afterAll(() => data.remove());

  /** Ends a job that announces its end at `now`; answers the id of the event. */
  const announce = async (
    changes: { now?: number; eventId?: string; by?: Owner; to?: string } = {},
  ): Promise<{ eventId: string; jobId: string }> => {
    const { now = start, eventId = randomUUID(), by = owner, to = url } = changes;
    const jobId = await openJob(store, opening(runningJob(by, { webhookUrl: to })));
    await store.finishJob(finishing(jobId, { webhook: { eventId, body: `{"event_id":"${eventId}"}` }, now }));
    return { eventId, jobId };
  };

  const lease = { owner: sender, leaseUntil: start + 30_000, now: start };
  const claim = (changes: Partial<Parameters<typeof claimDueWebhooks>[1]> = {}) =>
    claimDueWebhooks(store, { ...lease, limit: 10, ...changes });

  const attempt = (eventId: string, changes: Partial<WebhookAttemptInput> = {}): WebhookAttemptInput => ({
    eventId,
    owner: sender,
    attempt: { at: start + 1, durationMs: 20, httpStatus: 200, failure: null },
    state: 'delivered',
    nextAttemptAt: null,
    ...changes,
  });
  const timedOut = { at: start + 1, durationMs: 10_000, httpStatus: null, failure: 'timeout' };

  it('are written with the end of the job, due at once', async () => {
    const { eventId, jobId } = await announce({ now: start + 5 });
    const event = {
      id: eventId,
      accountId: owner.accountId,
      event: 'job.finished',
      jobId,
      url,
      body: `{"event_id":"${eventId}"}`,
      state: 'pending',
      attempts: 0,
      nextAttemptAt: start + 5,
      createdAt: start + 5,
      updatedAt: start + 5,
    };
    expect(await store.getWebhook(eventId)).toEqual(event);
    expect(await claim({ now: start + 4 })).toEqual([]);
    expect(await claim({ now: start + 5 })).toEqual([event]);
  });

  it('are written for a host that is longer than an index can hold', async () => {
    const letters = Array.from({ length: 2_000 }, () => String.fromCodePoint(0xac00 + randomInt(11_000)));
    const { eventId } = await announce({ to: `https://${letters.join('')}/` });
    expect(await claim()).toMatchObject([{ id: eventId }]);
  });

  it('are refused for a job without a webhook URL, and its end is undone too', async () => {
    const id = await openJob(store, opening(runningJob(owner, { webhookUrl: null })));
    const webhook = { eventId: randomUUID(), body: '{}' };
    await expect(store.finishJob(finishing(id, { webhook }))).rejects.toThrow(StoreError);
    expect(await store.getJob({ id, accountId: owner.accountId })).toMatchObject({ status: 'running' });
    expect(await store.getWebhook(webhook.eventId)).toBeNull();
    expect(await available(store, owner.accountId)).toBe(99_900n);
  });

  it('are not written if the lease of the job was lost', async () => {
    const id = await openJob(store, opening(runningJob(owner, { webhookUrl: url })));
    const webhook = { eventId: randomUUID(), body: '{}' };
    await store.finishJob(finishing(id, { owner: 'worker-2', webhook }));
    expect(await store.getWebhook(webhook.eventId)).toBeNull();
  });

  it('announce a failed job too, which may have a result', async () => {
    const id = await openJob(store, opening(runningJob(owner, { webhookUrl: url })));
    const webhook = { eventId: randomUUID(), body: '{"status":"failed"}' };
    const failed = finishing(id, {
      status: 'failed',
      error: deadJobError,
      charge: 0n,
      webhook,
      result: '{"id":"r"}',
    });
    expect(await store.finishJob(failed)).toMatchObject({ outcome: 'finished', charged: 0n });
    expect(await store.getJob({ id, accountId: owner.accountId })).toMatchObject({
      status: 'failed',
      result: '{"id":"r"}',
      error: deadJobError,
      holdState: 'released',
    });
    expect(await store.getWebhook(webhook.eventId)).toMatchObject({ state: 'pending', body: webhook.body });
  });

  it('are claimed in batches, longest due first, each by one process', async () => {
    const third = await announce({ now: start - 1 });
    const first = await announce({ now: start - 3 });
    const second = await announce({ now: start - 2 });
    expect((await claim({ limit: 2 })).map(({ id }) => id)).toEqual([first.eventId, second.eventId]);
    expect((await claim({ owner: 'sender-2' })).map(({ id }) => id)).toEqual([third.eventId]);
    expect(await claim()).toEqual([]);
  });

  it('wait in a queue per account and host, and the head of each is listed, longest due first', async () => {
    const other = await addAccount(store, { balance: 100_000n });
    const path = await announce({ now: start - 9 });
    const sameHost = [
      'https://customer.example',
      'https://CUSTOMER.example?x=1',
      'https://customer.example#/x',
      'https://customer.example\\x',
      'http://customer.example/x//y',
    ];
    for (const to of sameHost) await announce({ now: start - 8, to });
    const elsewhere = await announce({ now: start - 7, to: 'https://hooks.customer.example/hook' });
    const onPort = await announce({ now: start - 6, to: 'https://customer.example:8443/hook' });
    const ofOther = await announce({ now: start - 10, by: other });
    await announce({ now: start - 5, to: 'https://hooks.customer.example' });
    const due = await listDueWebhooks(store, start);
    const heads = [ofOther, path, elsewhere, onPort].map(({ eventId }) => eventId);
    expect(due.map(({ id }) => id)).toEqual(heads);
    expect(due[0]).toEqual({ id: ofOther.eventId, accountId: other.accountId, url });
    expect((await listDueWebhooks(store, start - 9)).map(({ id }) => id)).toEqual(heads.slice(0, 2));
    expect(await listDueWebhooks(store, start - 11)).toEqual([]);
  });

  it('are skipped in their queue while they have a lease or wait for a retry', async () => {
    const first = await announce({ now: start - 3 });
    const second = await announce({ now: start - 2 });
    const third = await announce({ now: start - 1 });
    const head = async () => (await listDueWebhooks(store, start)).map(({ id }) => id);
    expect(await head()).toEqual([first.eventId]);
    await claim({ limit: 2 });
    expect(await head()).toEqual([third.eventId]);
    const retry = { attempt: timedOut, state: 'pending', nextAttemptAt: start } as const;
    await store.recordWebhookAttempt(attempt(second.eventId, retry));
    await store.recordWebhookAttempt(attempt(first.eventId, { ...retry, nextAttemptAt: start + 1 }));
    expect(await head()).toEqual([third.eventId]);
    await claim({ limit: 1 });
    expect(await head()).toEqual([second.eventId]);
  });

  it('are claimed by id while they are due and free', async () => {
    const free = await announce();
    const taken = await announce();
    const later = await announce({ now: start + 1 });
    const ids = [free.eventId, taken.eventId, later.eventId, 'nothing'];
    await store.claimWebhooks({ ...lease, owner: 'sender-2', ids: [taken.eventId] });
    expect(await store.claimWebhooks({ ...lease, ids })).toMatchObject([{ id: free.eventId, attempts: 0 }]);
    expect(await store.claimWebhooks({ ...lease, ids: [] })).toEqual([]);
  });

  it('are due again when the lease expires, and its owner then loses them', async () => {
    const { eventId } = await announce();
    await claim({ leaseUntil: start + 10 });
    expect(await claim({ owner: 'sender-2', now: start + 9 })).toEqual([]);
    expect(await claim({ owner: 'sender-2', now: start + 10 })).toMatchObject([{ id: eventId }]);
    expect(await store.recordWebhookAttempt(attempt(eventId))).toBe(false);
    expect(await store.listWebhookAttempts(eventId)).toEqual([]);
    expect(await store.recordWebhookAttempt(attempt(eventId, { owner: 'sender-2' }))).toBe(true);
    expect(await store.recordWebhookAttempt(attempt(eventId, { owner: 'sender-2' }))).toBe(false);
  });

  it('wait for their next attempt, are counted, and end', async () => {
    const { eventId } = await announce();
    await claim();
    const retry = attempt(eventId, { attempt: timedOut, state: 'pending', nextAttemptAt: start + 5_000 });
    expect(await store.recordWebhookAttempt(retry)).toBe(true);
    expect(await store.getWebhook(eventId)).toMatchObject({
      state: 'pending',
      attempts: 1,
      nextAttemptAt: start + 5_000,
      updatedAt: start + 10_001,
    });
    expect(await claim({ now: start + 4_999 })).toEqual([]);
    expect(await claim({ now: start + 5_000 })).toMatchObject([{ id: eventId, attempts: 1 }]);
    expect(await store.recordWebhookAttempt(attempt(eventId))).toBe(true);
    expect(await store.getWebhook(eventId)).toMatchObject({
      state: 'delivered',
      attempts: 2,
      nextAttemptAt: null,
    });
    expect(await claim({ now: start + 10 ** 9 })).toEqual([]);
    expect(await store.listWebhookAttempts(eventId)).toEqual([
      { eventId, ...timedOut },
      { eventId, at: start + 1, durationMs: 20, httpStatus: 200, failure: null },
    ]);
  });

  it('have a next attempt only while they are pending', async () => {
    const { eventId } = await announce();
    await claim();
    const bad = [attempt(eventId, { state: 'pending' }), attempt(eventId, { nextAttemptAt: start + 5 })];
    for (const input of bad) await expect(store.recordWebhookAttempt(input)).rejects.toThrow(StoreError);
    expect(await store.getWebhook(eventId)).toMatchObject({
      state: 'pending',
      attempts: 0,
      nextAttemptAt: start,
    });
    expect(await store.listWebhookAttempts(eventId)).toEqual([]);
  });

  it('are redelivered on demand, with a new count and the whole log', async () => {
    const { eventId } = await announce();
    await claim();
    await store.recordWebhookAttempt(attempt(eventId, { attempt: timedOut, state: 'exhausted' }));
    expect(await store.redeliverWebhook({ eventId, now: start + 9 })).toMatchObject({
      id: eventId,
      state: 'pending',
      attempts: 0,
      nextAttemptAt: start + 9,
      updatedAt: start + 9,
    });
    expect(await claim({ now: start + 9 })).toMatchObject([{ id: eventId }]);
    await store.recordWebhookAttempt(attempt(eventId));
    expect(await store.getWebhook(eventId)).toMatchObject({ state: 'delivered', attempts: 1 });
    expect(await store.listWebhookAttempts(eventId)).toMatchObject([
      { failure: 'timeout' },
      { httpStatus: 200 },
    ]);
    expect(await store.redeliverWebhook({ eventId: 'nothing', now: start })).toBeNull();
  });

  it('are redelivered without waiting for an attempt under way', async () => {
    const { eventId } = await announce();
    await claim();
    await store.redeliverWebhook({ eventId, now: start + 1 });
    expect(await store.recordWebhookAttempt(attempt(eventId))).toBe(false);
    expect(await claim({ owner: 'sender-2', now: start + 1 })).toMatchObject([{ id: eventId }]);
  });

  it('are listed newest first, by account, by job and by state', async () => {
    const fresh = await create();
    const outer = store;
    try {
      ({ store } = fresh);
      owner = await addAccount(store, { balance: 100_000n });
      const other = await addAccount(store, { balance: 100_000n });
      const a = await announce({ now: start + 1, eventId: 'a' });
      await announce({ now: start + 3, eventId: 'b' });
      await announce({ now: start + 2, eventId: 'c' });
      await announce({ now: start + 2, eventId: 'd', by: other });
      await claim({ now: start + 2 });
      await store.recordWebhookAttempt(attempt('a'));
      await store.recordWebhookAttempt(attempt('c', { state: 'exhausted' }));
      const list = async (input: Partial<Parameters<Store['listWebhooks']>[0]> = {}) =>
        (await store.listWebhooks({ limit: 9, ...input })).map(({ id }) => id).join('');
      const { accountId } = owner;
      expect(await list()).toBe('bdca');
      expect(await list({ limit: 2 })).toBe('bd');
      expect(await list({ accountId })).toBe('bca');
      expect(await list({ accountId, states: ['pending'] })).toBe('b');
      expect(await list({ accountId, limit: 1 })).toBe('b');
      expect(await list({ jobId: a.jobId })).toBe('a');
      expect(await list({ jobId: a.jobId, accountId })).toBe('a');
      expect(await list({ jobId: a.jobId, accountId: other.accountId })).toBe('');
      expect(await list({ jobId: a.jobId, states: ['pending'] })).toBe('');
      expect(await list({ states: ['pending'] })).toBe('bd');
      expect(await list({ states: ['exhausted', 'pending', 'delivered', 'stopped'] })).toBe('bdca');
      expect(await list({ states: ['exhausted', 'delivered'], limit: 1 })).toBe('c');
      expect(await list({ states: [] })).toBe('');
    } finally {
      store = outer;
      await fresh.remove();
    }
  });

  it('are null or empty where there are none', async () => {
    expect(await store.getWebhook('nothing')).toBeNull();
    expect(await store.listWebhooks({ jobId: 'nothing', limit: 9 })).toEqual([]);
    expect(await store.listWebhookAttempts('nothing')).toEqual([]);
    expect(await store.recordWebhookAttempt(attempt('nothing'))).toBe(false);
  });
});

describe.each(testEngines())('webhook secrets on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterAll(() => data.remove());

  it('are made once', async () => {
    const { accountId } = await addAccount(store);
    expect(await store.getWebhookSecrets(accountId)).toBeNull();
    const other = await data.openAnother();
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? store : other).ensureWebhookSecret({ accountId, secret: `whsec_${index}` }),
      ),
    );
    expect(new Set(made.map((secrets) => secrets?.current)).size).toBe(1);
    expect(await store.getWebhookSecrets(accountId)).toEqual(made[0]);
    expect(made[0]).toMatchObject({ previous: null });
  });

  it('keep the previous one until the next rotation', async () => {
    const { accountId } = await addAccount(store);
    await store.ensureWebhookSecret({ accountId, secret: 'one' });
    expect(await store.rotateWebhookSecret({ accountId, secret: 'two', previousUntil: start + 5 })).toEqual({
      current: 'two',
      previous: { secret: 'one', until: start + 5 },
    });
    const third = { current: 'three', previous: { secret: 'two', until: start + 9 } };
    const rotate = () => store.rotateWebhookSecret({ accountId, secret: 'three', previousUntil: start + 9 });
    expect(await rotate()).toEqual(third);
    // The same command sent again is not another rotation.
    expect(await rotate()).toEqual(third);
    expect(await store.getWebhookSecrets(accountId)).toEqual(third);
    expect(await store.ensureWebhookSecret({ accountId, secret: 'four' })).toEqual(third);
  });

  it('may start with a rotation', async () => {
    const { accountId } = await addAccount(store);
    expect(await store.rotateWebhookSecret({ accountId, secret: 'one', previousUntil: start })).toEqual({
      current: 'one',
      previous: null,
    });
  });

  it('are null for a missing account', async () => {
    const accountId = 'nobody';
    expect(await store.getWebhookSecrets(accountId)).toBeNull();
    expect(await store.ensureWebhookSecret({ accountId, secret: 's' })).toBeNull();
    expect(await store.rotateWebhookSecret({ accountId, secret: 's', previousUntil: start })).toBeNull();
  });
});

import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/kit/log.ts';
import {
  getWebhook,
  listWebhooks,
  redeliverWebhook,
  rotateWebhookSecret,
} from '../../src/operator/webhooks.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { claimDueWebhooks } from '../store/claim-due-webhooks.ts';
import { addCustomer, addEvent } from '../jobs/webhooks/dispatching.ts';
import { operatorOf as commandsOf, temporaryDataFolder } from './run-cli.ts';
import { createTestDatabase } from './test-database.ts';

const documents = {
  list: listWebhooks.output,
  shown: getWebhook.output,
  redelivered: redeliverWebhook.output,
  rotated: rotateWebhookSecret.output,
};

const operatorOf = (environment: Record<string, string>) => commandsOf(environment, { subject: 'webhooks' });

const url = 'https://hooks.example.com/causeway?token=hidden';

/** Claims the one event that is due and writes down how its delivery went. */
const attempt = async (
  store: Store,
  { httpStatus, state }: { httpStatus: number | null; state: 'delivered' | 'exhausted' },
): Promise<void> => {
  const now = Date.now();
  const lease = { owner: 'gateway', leaseUntil: now + 30_000, now };
  const [event] = await claimDueWebhooks(store, { ...lease, limit: 1 });
  const failure = state === 'delivered' ? null : 'timeout';
  const recorded = await store.recordWebhookAttempt({
    eventId: event?.id ?? '',
    owner: 'gateway',
    attempt: { at: now, durationMs: 10_000, httpStatus, failure },
    state,
    nextAttemptAt: null,
  });
  if (!recorded) throw new Error('the attempt was not recorded');
};

const expectToLookAfterWebhooks = async (env: Record<string, string>, gateway: Store): Promise<void> => {
  const operator = operatorOf(env);
  const { owner, secret } = await addCustomer(gateway);
  const { accountId } = owner;
  const given = await addEvent(gateway, { owner, url, now: Date.now() - 2 });
  await attempt(gateway, { httpStatus: null, state: 'exhausted' });
  const taken = await addEvent(gateway, { owner, url, now: Date.now() - 1 });
  await attempt(gateway, { httpStatus: 200, state: 'delivered' });

  const { webhooks: all } = await operator.answer(documents.list, 'list');
  expect(all.map(({ event_id: id, state }) => [id, state])).toEqual([
    [taken.eventId, 'delivered'],
    [given.eventId, 'exhausted'],
  ]);
  const firstPage = await operator.answer(documents.list, 'list', '--limit', '1');
  expect(firstPage).toEqual({ webhooks: [all[0]], has_more: true });
  const exhausted = ['list', '--account', accountId, '--state', 'exhausted'];
  expect((await operator.answer(documents.list, ...exhausted)).webhooks).toEqual([all[1]]);
  const ofJob = ['list', '--job', all[0]?.job_id ?? ''];
  expect((await operator.answer(documents.list, ...ofJob)).webhooks).toEqual([all[0]]);
  const ofOther = ['list', '--job', randomUUID()];
  expect((await operator.answer(documents.list, ...ofOther)).webhooks).toEqual([]);

  const again = await operator.answer(documents.redelivered, 'redeliver', given.eventId);
  expect(again.webhook).toMatchObject({ event_id: given.eventId, state: 'pending', attempts: 0 });
  await attempt(gateway, { httpStatus: 204, state: 'delivered' });
  const shown = await operator.answer(documents.shown, 'show', given.eventId.toUpperCase());
  expect(shown).toMatchObject({
    webhook: { url, state: 'delivered', attempts: 1, next_attempt_at: null },
    attempts: [
      { duration_ms: 10_000, http_status: null, failure: 'timeout' },
      { duration_ms: 10_000, http_status: 204, failure: null },
    ],
  });

  const before = Date.now();
  const rotated = await operator.answer(documents.rotated, 'rotate-secret', accountId);
  const until = Date.parse(rotated.previous_signs_until ?? '');
  expect(until).toBeGreaterThanOrEqual(before + 24 * 3_600_000);
  const secrets = await gateway.getWebhookSecrets(accountId);
  expect(secrets).toEqual({
    current: expect.stringMatching(/^whsec_/),
    previous: { secret, until },
  });
  expect(secrets?.current).not.toBe(secret);
};

test('webhooks are listed, shown, redelivered and given new secrets beside a gateway on the embedded store', async () => {
  const dataDir = await temporaryDataFolder();
  const gateway = await openStore({ databaseUrl: null, dataDir }, { log: silentLog, inThisThread: true });
  onTestFinished(() => gateway.close());
  await expectToLookAfterWebhooks({ DATA_DIR: dataDir }, gateway);
});

test('webhooks are listed, shown, redelivered and given new secrets beside a gateway on PostgreSQL', async (context) => {
  const database = await createTestDatabase();
  if (database === null) {
    context.skip();
    return;
  }
  onTestFinished(() => database.drop());
  const dataDir = await temporaryDataFolder();
  const gateway = await openStore(
    { databaseUrl: database.url, dataDir },
    { log: silentLog, inThisThread: true },
  );
  onTestFinished(() => gateway.close());
  await expectToLookAfterWebhooks({ DATABASE_URL: database.url, DATA_DIR: dataDir }, gateway);
});

test('people see aligned tables, where a receiver is named by its host alone, and never a secret', async () => {
  const dataDir = await temporaryDataFolder();
  const gateway = await openStore({ databaseUrl: null, dataDir }, { log: silentLog, inThisThread: true });
  onTestFinished(() => gateway.close());
  const env = { DATA_DIR: dataDir };
  const print = async (...args: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await operatorOf(env).print(...args);
    expect([exitCode, stderr]).toEqual([0, '']);
    return stdout;
  };
  expect(await print('list')).toBe('There are no such webhooks.\n');
  const { owner, secret } = await addCustomer(gateway);
  const { eventId } = await addEvent(gateway, { owner, url, now: Date.now() });
  const list = await print('list');
  expect(list).toMatch(/^ID {36}EVENT {9}STATE {4}ATTEMPTS {2}NEXT {22}CREATED {19}HOST\n/);
  expect(list).toMatch(
    new RegExp(`\n${eventId}  job\\.finished  pending +0  \\S+  \\S+  hooks\\.example\\.com\n$`),
  );
  expect(await print('show', eventId)).toContain('Nothing has been sent yet.');
  await attempt(gateway, { httpStatus: null, state: 'exhausted' });
  const shown = await print('show', eventId);
  expect(shown).toContain(`To ${url}`);
  expect(shown).toMatch(/\nATTEMPT {19}TOOK MS {2}STATUS {2}FAILURE\n\S+ {4}10000 {2}- {7}timeout\n$/);
  const rotated = await print('rotate-secret', owner.accountId);
  expect(rotated).toContain('GET /v1/balance');
  const secrets = await gateway.getWebhookSecrets(owner.accountId);
  for (const hidden of [secret, secrets?.current ?? ''])
    expect([list, shown, rotated].join('\n')).not.toContain(hidden);
});

test('what is not there is refused', async () => {
  const dataDir = await temporaryDataFolder();
  const gateway = await openStore({ databaseUrl: null, dataDir }, { log: silentLog, inThisThread: true });
  onTestFinished(() => gateway.close());
  const operator = operatorOf({ DATA_DIR: dataDir });
  const missing = randomUUID();
  for (const args of [
    ['show', missing],
    ['redeliver', missing],
  ])
    expect(await operator.refusal(...args)).toMatchObject({
      exitCode: 1,
      message: expect.stringContaining(`no webhook with id "${missing}"`),
    });
  for (const args of [
    ['rotate-secret', missing],
    ['list', '--account', missing],
  ])
    expect(await operator.refusal(...args)).toMatchObject({ exitCode: 1, code: 'account_not_found' });
  expect(await operator.refusal('list', '--state', 'lost')).toMatchObject({
    exitCode: 2,
    code: 'invalid_usage',
  });
});

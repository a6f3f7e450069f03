import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import { credit } from '../../src/accounts/ledger/entries.ts';
import { silentLog } from '../../src/kit/log.ts';
import { parseUsd, type Nano } from '../../src/kit/money.ts';
import { embeddedStoreFile, openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { documents, operatorOf, runCli, temporaryDataFolder } from './run-cli.ts';
import { createAccount } from '../store/builders.ts';
import { issueKey } from '../../src/accounts/keys.ts';

// Every command is a process.
vi.setConfig({ testTimeout: 300_000 });

/** An account with 10 USD, as a gateway in this process has it, and the operator's commands beside it. */
const openBooks = async () => {
  const dataDir = await temporaryDataFolder();
  const store = await openStore({ databaseUrl: null, dataDir }, { log: silentLog, inThisThread: true });
  onTestFinished(() => store.close());
  const services = { store, clock: systemClock };
  const account = await createAccount(services, { name: 'Acme', status: 'active' });
  await credit(services, { accountId: account.id, amount: parseUsd('10'), reason: 'Invoice 1' });
  return { dataDir, store, accountId: account.id, operator: operatorOf({ DATA_DIR: dataDir }) };
};

/** A job that was done and charged. */
const chargedJob = async (store: Store, accountId: string, charge: Nano): Promise<string> => {
  const issued = await issueKey({ store, clock: systemClock }, { accountId, label: '', brand: 'causeway' });
  if (issued.outcome !== 'issued') throw new Error(issued.outcome);
  const now = Date.now();
  const id = randomUUID();
  await store.openJob({
    job: {
      id,
      accountId,
      keyId: issued.apiKey.id,
      kind: 'image',
      model: 'imagemodel-1.0',
      status: 'running',
      leaseOwner: 'test',
      leaseUntil: now + 60_000,
      maxAttempts: 1,
      deadlineAt: now + 60_000,
      request: '{}',
      customData: null,
      parameters: null,
      webhookUrl: null,
      usageTag: null,
      isBudgeted: false,
    },
    hold: charge,
    idempotency: null,
    activeLimit: null,
    inputs: [],
    now,
  });
  await store.finishJob({
    id,
    accountId,
    owner: 'test',
    status: 'done',
    result: '[]',
    error: null,
    metadata: null,
    charge,
    entryId: randomUUID(),
    media: [],
    webhook: null,
    budgeted: null,
    cost: null,
    now,
  });
  return id;
};

test('a job is refunded in parts up to its charge and no further', async () => {
  const { store, accountId, operator } = await openBooks();
  const jobId = await chargedJob(store, accountId, parseUsd('0.04'));
  const reason = ['--reason', 'unusable'];
  expect(await operator.answer(documents.refunded, 'refund', jobId, '0.01', ...reason)).toMatchObject({
    entry: { type: 'refund', amount_usd: '0.01', job_id: jobId, account_id: accountId, reason: 'unusable' },
    refunded_usd: '0.01',
    balance_usd: '9.97',
  });
  expect(await operator.refusal('refund', jobId, '0.04', ...reason)).toEqual({
    exitCode: 1,
    code: 'refund_too_large',
    message: 'At most 0.03 USD of this job can still be refunded, not 0.04 USD.',
  });
  const rest = await operator.answer(documents.refunded, 'refund', `chatcmpl-${jobId}`, '0.03', ...reason);
  expect(rest.balance_usd).toBe('10.00');
  expect(await operator.refusal('refund', jobId, '0.01', ...reason)).toMatchObject({
    code: 'refund_too_large',
    message: expect.stringContaining('Nothing of this job'),
  });
  expect((await store.checkLedger()).problems).toEqual([]);
});

test('an adjustment may take the last cent, but not more than there is', async () => {
  const { accountId, operator } = await openBooks();
  const reason = ['--reason', 'correction'];
  expect(await operator.refusal('adjust', accountId, '-10.01', ...reason)).toEqual({
    exitCode: 1,
    code: 'insufficient_balance',
    message: 'The account has 10.00 USD available; 10.01 USD cannot be taken.',
  });
  const raised = await operator.answer(documents.posted, 'adjust', accountId, '+0.5', ...reason);
  expect(raised.balance_usd).toBe('10.50');
  const emptied = await operator.answer(documents.posted, 'adjust', ...reason, accountId, '-10.50');
  expect(emptied.balance_usd).toBe('0.00');
});

test('a credit repeated under its own entry id is posted once, and another credit under it is refused', async () => {
  const { accountId, operator } = await openBooks();
  const id = randomUUID();
  const options = ['--reason', 'Invoice 2', '--entry-id', id.toUpperCase()];
  const first = await operator.answer(documents.posted, 'credit', accountId, '5', ...options);
  const again = await operator.answer(documents.posted, 'credit', accountId, '5', ...options);
  expect(first).toMatchObject({ entry: { id }, balance_usd: '15.00' });
  expect(again).toEqual(first);
  expect(await operator.refusal('credit', accountId, '6', ...options)).toMatchObject({
    exitCode: 1,
    code: 'idempotency_conflict',
    message: expect.stringContaining('already posted with other contents'),
  });
});

test.each([
  { command: ['credit', 'ID', '1', '--reason', 'x'], thing: 'account' },
  { command: ['adjust', 'ID', '1', '--reason', 'x'], thing: 'account' },
  { command: ['accounts', 'approve', 'ID'], thing: 'account' },
  { command: ['accounts', 'suspend', 'ID'], thing: 'account' },
  { command: ['accounts', 'list', '--after', 'ID'], thing: 'account' },
  { command: ['keys', 'issue', 'ID'], thing: 'account' },
  { command: ['keys', 'list', 'ID'], thing: 'account' },
  { command: ['keys', 'revoke', 'ID'], thing: 'key' },
  { command: ['refund', 'ID', '1', '--reason', 'x'], thing: 'job' },
])(
  '"$command.0 $command.1" with the beginning of an id names the $thing it did not find',
  async ({ command, thing }) => {
    const { accountId, operator } = await openBooks();
    const beginning = accountId.slice(0, 8);
    expect(await operator.refusal(...command.map((word) => (word === 'ID' ? beginning : word)))).toEqual({
      exitCode: 1,
      code: `${thing}_not_found`,
      message: `There is no ${thing} with id "${beginning}".`,
    });
  },
);

test('"ledger check" names an account whose balance is not the sum of its entries and ends with 1', async () => {
  const { dataDir, accountId } = await openBooks();
  const database = new DatabaseSync(embeddedStoreFile(dataDir), { timeout: 30_000 });
  database.prepare('update accounts set balance = balance + 1 where id = ?').run(accountId);
  database.close();
  const told = await runCli(['ledger', 'check'], { env: { DATA_DIR: dataDir } });
  expect(told.exitCode).toBe(1);
  expect(told.stdout).toContain(`account ${accountId}: its balance is 10.000000001 USD`);
  const asJson = await runCli(['ledger', 'check', '--json'], { env: { DATA_DIR: dataDir } });
  expect(asJson.exitCode).toBe(1);
  expect(documents.ledger.parse(JSON.parse(asJson.stdout))).toMatchObject({
    ok: false,
    accounts: 1,
    entries: 1,
  });
});

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { silentLog } from '../../src/kit/log.ts';
import { parseUsd } from '../../src/kit/money.ts';
import { openStore } from '../../src/store/open-store.ts';
import { leadLifeOfAnAccount } from './life-of-an-account.ts';
import { createTestDatabase } from './test-database.ts';
import { documents, operatorOf, runCli, temporaryDataFolder, temporaryFolder } from './run-cli.ts';

// Many commands are processes.
vi.setConfig({ testTimeout: 300_000 });

const rightBooks = {
  ok: true,
  accounts: 1,
  entries: 2,
  open_holds: 0,
  owed_jobs: 0,
  owed_usd: '0.00',
  debts: [],
  problems: [],
};

/** The store as the gateway has it open, in this process, while the commands run in theirs. */
const openGatewayStore = async (databaseUrl: string | null, dataDir: string) => {
  const gateway = await openStore({ databaseUrl, dataDir }, { log: silentLog, inThisThread: true });
  onTestFinished(() => gateway.close());
  return gateway;
};

test('an account is made, approved, credited, given keys and suspended beside a gateway on the embedded store', async () => {
  const dataDir = await temporaryDataFolder();
  const gateway = await openGatewayStore(null, dataDir);
  const operator = operatorOf({ DATA_DIR: dataDir }, { runCommand: runCli });
  expect(await leadLifeOfAnAccount(operator, gateway)).toEqual(rightBooks);
});

test('an account is made, approved, credited, given keys and suspended beside a gateway on PostgreSQL', async (context) => {
  const database = await createTestDatabase();
  if (database === null) {
    context.skip();
    return;
  }
  onTestFinished(() => database.drop());
  const dataDir = await temporaryFolder();
  const gateway = await openGatewayStore(database.url, dataDir);
  const env = { DATABASE_URL: database.url, DATA_DIR: dataDir };
  expect(await leadLifeOfAnAccount(operatorOf(env), gateway)).toEqual(rightBooks);
});

test('credits by commands and by a gateway at the same time are all in the sum', async () => {
  const dataDir = await temporaryDataFolder();
  const gateway = await openGatewayStore(null, dataDir);
  const operator = operatorOf({ DATA_DIR: dataDir }, { runCommand: runCli });
  const create = ['accounts', 'create', '--name', 'Busy', '--approved'];
  const { account } = await operator.answer(documents.account, ...create);
  const byGateway = Array.from({ length: 200 }, () =>
    gateway.postEntry({
      id: randomUUID(),
      accountId: account.id,
      type: 'topup',
      amount: 1n,
      note: null,
      now: 0,
    }),
  );
  const byCommand = ['1', '2', '3', '4'].map((amount) =>
    operator.answer(documents.posted, 'credit', account.id, amount, '--reason', 'at once'),
  );
  await Promise.all([...byGateway, ...byCommand]);
  expect((await gateway.getAccount(account.id))?.balance).toBe(parseUsd('10') + 200n);
  expect((await gateway.checkLedger()).problems).toEqual([]);
});

test('only "accounts create" makes a store where there is none', async () => {
  const dataDir = join(await temporaryFolder(), 'new', 'data');
  const operator = operatorOf({ DATA_DIR: dataDir });
  expect(await operator.refusal('accounts', 'list')).toMatchObject({ exitCode: 1, code: 'no_data' });
  const { account } = await operator.answer(documents.account, 'accounts', 'create', '--name', 'First');
  const { accounts } = await operator.answer(documents.accounts, 'accounts', 'list');
  expect(accounts).toEqual([account]);
});

test('accounts are listed oldest first, page by page', async () => {
  const dataDir = await temporaryDataFolder();
  const gateway = await openGatewayStore(null, dataDir);
  const names = ['one', 'two', 'three'];
  for (const [now, name] of names.entries())
    await gateway.createAccount({ id: randomUUID(), name, status: 'active', now });
  const operator = operatorOf({ DATA_DIR: dataDir });
  const first = await operator.answer(documents.accounts, 'accounts', 'list', '--limit', '2');
  expect(first.has_more).toBe(true);
  const after = first.accounts.at(-1)?.id ?? '';
  const rest = await operator.answer(
    documents.accounts,
    'accounts',
    'list',
    '--limit',
    '2',
    '--after',
    after,
  );
  expect(rest.has_more).toBe(false);
  expect([...first.accounts, ...rest.accounts].map(({ name }) => name)).toEqual(names);
});

test('an account made with --sandbox shows that its money is sandbox credit', async () => {
  const dataDir = await temporaryDataFolder();
  const operator = operatorOf({ DATA_DIR: dataDir });
  const create = ['accounts', 'create', '--name', 'Trial'];
  expect((await operator.answer(documents.account, ...create)).account.sandbox).toBe(false);
  expect((await operator.answer(documents.account, ...create, '--sandbox')).account.sandbox).toBe(true);
  const { accounts } = await operator.answer(documents.accounts, 'accounts', 'list');
  expect(accounts.map(({ sandbox }) => sandbox)).toEqual([false, true]);
  const { stdout } = await runCli(['accounts', 'list', '--data-dir', dataDir]);
  expect(stdout).toMatch(/^ACCOUNT +STATUS +SANDBOX +BALANCE USD.*\n.* pending +no .*\n.* pending +yes /);
});

test('without --json a new key stands alone on stdout', async () => {
  const dataDir = await temporaryDataFolder();
  const operator = operatorOf({ DATA_DIR: dataDir });
  const create = ['accounts', 'create', '--name', 'Acme', '--approved'];
  const { account } = await operator.answer(documents.account, ...create);
  const { stdout, stderr } = await runCli(['keys', 'issue', account.id, '--data-dir', dataDir]);
  expect(stdout).toMatch(/^sk_causeway_[0-9A-Za-z]{43}\n$/);
  expect(stderr).not.toContain(stdout.trim());
  expect(stderr).toContain('not shown again');
});

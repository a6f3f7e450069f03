import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createCatalogs } from '../../src/accounts/catalog/catalog.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { silentLog } from '../../src/kit/log.ts';
import { openStore } from '../../src/store/open-store.ts';
import { operatorOf, temporaryDataFolder, temporaryFolder } from './run-cli.ts';
import { createAccount } from '../store/builders.ts';

/** An account, as a gateway has it, and the operator's commands beside it, each with a store of its own. */
const openBooks = async (env: Record<string, string> = {}) => {
  const dataDir = await temporaryDataFolder();
  const store = await openStore({ databaseUrl: null, dataDir }, { log: silentLog, inThisThread: true });
  onTestFinished(() => store.close());
  const account = await createAccount({ store, clock: systemClock }, { name: 'Acme', status: 'active' });
  const writeTerms = async (text: string, name = 'terms.yaml'): Promise<string> => {
    await writeFile(join(dataDir, name), text);
    return join(dataDir, name);
  };
  const { print: run, answer: read, refusal } = operatorOf({ DATA_DIR: dataDir, ...env });
  const answer = (...args: string[]): Promise<unknown> => read(z.unknown(), ...args);
  return { store, accountId: account.id, writeTerms, run, answer, refusal };
};

test('terms are set from YAML, shown as YAML that can be set again, and cleared', async () => {
  const { store, accountId, writeTerms, run, answer } = await openBooks();
  const file = await writeTerms(`
models: [textmodel-3.1-pro, imagemodel-1.0]
prices:
  imagemodel-1.0: { unit: call, price_usd: 0.030 }
requests_per_minute: 1200
`);
  const set = await answer('account', 'terms', 'set', accountId, '--file', file);
  const terms = {
    models: ['textmodel-3.1-pro', 'imagemodel-1.0'],
    prices: { 'imagemodel-1.0': { unit: 'call', price_usd: '0.03' } },
    requests_per_minute: 1200,
  };
  expect(set).toEqual({ account_id: accountId, terms });
  const stored = (await store.getAccount(accountId))?.terms ?? null;
  const catalog = createCatalogs(readConfig({}, null).models, {
    isSandboxModel: () => true,
    realSales: { hasBegun: () => false, refresh: () => Promise.resolve() },
  }).for({ accountId, terms: stored, isSandbox: false });
  expect(catalog.list().map(({ sku }) => sku)).toEqual(['textmodel-3.1-pro', 'imagemodel-1.0']);

  const shown = await run('accounts', 'terms', 'show', accountId);
  const again = await writeTerms(shown.stdout, 'shown.yaml');
  expect(await answer('accounts', 'terms', 'set', accountId, '--file', again)).toEqual(set);
  expect((await store.getAccount(accountId))?.terms).toBe(stored);

  expect(await answer('account', 'terms', 'clear', accountId)).toEqual({
    account_id: accountId,
    terms: null,
  });
  const none = await run('account', 'terms', 'show', accountId);
  expect(none.stdout).toBe(`${accountId} has no terms of its own.\n`);
});

test('terms in JSON are checked against the SKUs of causeway.yaml', async () => {
  const folder = await temporaryFolder();
  const config = join(folder, 'gateway.yaml');
  await writeFile(
    config,
    'models:\n  draw-1: { kind: image, price: { unit: call, price_usd: 1 }, routes: [{ provider: sandbox }] }\n',
  );
  const { accountId, writeTerms, answer, refusal } = await openBooks({ CAUSEWAY_CONFIG: config });
  const good = await writeTerms('{"models":["draw-1"]}', 'terms.json');
  const set = ['account', 'terms', 'set', accountId, '--file'];
  expect(await answer(...set, good)).toMatchObject({ terms: { models: ['draw-1'] } });
  const bad = await writeTerms('{"models":["imagemodel-1.0"]}', 'bad.json');
  expect(await refusal(...set, bad)).toEqual({
    exitCode: 2,
    code: 'invalid_terms',
    message: `${bad}: models: there is no SKU "imagemodel-1.0"; known SKUs are draw-1`,
  });
});

test.each([
  [
    'prices:\n  imagemodel-1.0: { unit: token, input_usd_per_1m: 1, output_usd_per_1m: 1 }',
    /prices\.imagemodel-1\.0\.unit: a SKU of kind image is priced by call/,
  ],
  ['prices:\n  imagemodel-1.0: { unit: call }', /prices\.imagemodel-1\.0\.price_usd/],
  ['price: {}', /price/],
  ['models: [a', /it is neither YAML nor JSON/],
  ['', /it is empty/],
])('a file with %j is refused in one line, and nothing is changed', async (text, message) => {
  const { store, accountId, writeTerms, refusal } = await openBooks();
  const file = await writeTerms(text);
  const refused = await refusal('account', 'terms', 'set', accountId, '--file', file);
  expect(refused).toMatchObject({
    exitCode: 2,
    code: 'invalid_terms',
    message: expect.stringMatching(message),
  });
  expect(refused.message.startsWith(`${file}: `)).toBe(true);
  expect((await store.getAccount(accountId))?.terms).toBeNull();
});

test('a file or an account that is not there is named', async () => {
  const { accountId, writeTerms, refusal } = await openBooks();
  const missing = await refusal('account', 'terms', 'set', accountId, '--file', 'nowhere.yaml');
  expect(missing).toEqual({
    exitCode: 2,
    code: 'invalid_terms',
    message: 'nowhere.yaml: it cannot be read',
  });
  const file = await writeTerms('{}');
  for (const words of [
    ['show', 'nobody'],
    ['clear', 'nobody'],
    ['set', 'nobody', '--file', file],
  ])
    expect(await refusal('account', 'terms', ...words)).toEqual({
      exitCode: 1,
      code: 'account_not_found',
      message: 'There is no account with id "nobody".',
    });
});

import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import { silentLog } from '../../src/kit/log.ts';
import { openStore } from '../../src/store/open-store.ts';
import { documents, operatorOf, temporaryDataFolder } from './run-cli.ts';
import { createAccount } from '../store/builders.ts';

const openBooks = async () => {
  const dataDir = await temporaryDataFolder();
  const store = await openStore({ databaseUrl: null, dataDir }, { log: silentLog, inThisThread: true });
  onTestFinished(() => store.close());
  const { id } = await createAccount({ store, clock: systemClock }, { name: 'Acme', status: 'active' });
  return { accountId: id, store, ...operatorOf({ DATA_DIR: dataDir }, { subject: 'keys' }) };
};

test('a key is issued with limits, which the list shows, and "set" changes those that it names', async () => {
  const { accountId, answer, print } = await openBooks();
  const limits = [
    ...['--budget-day', '5', '--budget-month', '100', '--budget-total', '400'],
    ...['--models', 'imagemodel-1.0,videomodel-2.0'],
  ];
  const more = ['--expires', '2999-01-31', '--alert-url', 'https://shop.example.com/hooks'];
  const issued = await answer(documents.issuedKey, 'issue', accountId, ...limits, ...more);
  const expected = {
    created_by: 'operator',
    budget_day_usd: '5.00',
    budget_month_usd: '100.00',
    budget_total_usd: '400.00',
    models: ['imagemodel-1.0', 'videomodel-2.0'],
    expires_at: '2999-01-31T00:00:00.000Z',
    alert_url: 'https://shop.example.com/hooks',
    day_spent_usd: '0.00',
  };
  expect(issued.api_key).toMatchObject(expected);
  const { id } = issued.api_key;
  const { stdout } = await print('list', accountId);
  expect(stdout).toMatch(
    /0\.00 of 5\.00 +0\.00 of 100\.00 +0\.00 of 400\.00 +imagemodel-1\.0,videomodel-2\.0/,
  );
  const set = await answer(documents.apiKey, 'set', id, '--budget-day', 'none', '--models', 'none');
  expect(set.api_key).toMatchObject({ ...expected, budget_day_usd: null, models: null });
  const [listed] = (await answer(documents.apiKeys, 'list', accountId)).api_keys;
  expect(listed).toEqual(set.api_key);
});

test.each([
  ['--budget-day', '0'],
  ['--budget-month', 'much'],
  ['--expires', '2020-01-01'],
  ['--models', 'no-such-model'],
  ['--alert-url', 'http://127.0.0.1/hooks'],
])('a limit that cannot be is refused: %s %s', async (option, value) => {
  const { accountId, refusal } = await openBooks();
  expect(await refusal('issue', accountId, option, value)).toMatchObject({
    exitCode: 2,
    code: 'invalid_usage',
  });
});

test('limits of an unknown or revoked key are not changed', async () => {
  const { accountId, answer, refusal } = await openBooks();
  expect(await refusal('set', 'nothing', '--budget-day', '5')).toMatchObject({ code: 'key_not_found' });
  const { api_key: issued } = await answer(documents.issuedKey, 'issue', accountId);
  await answer(documents.apiKey, 'revoke', issued.id);
  expect(await refusal('set', issued.id, '--budget-day', '5')).toMatchObject({ code: 'invalid_value' });
});

test('the audit log names a key that was revoked by the whole key, without its secret', async () => {
  const { accountId, answer, store } = await openBooks();
  const { key, api_key: issued } = await answer(documents.issuedKey, 'issue', accountId);
  await answer(documents.apiKey, 'revoke', key);
  const [row] = await store.listAudit({ limit: 1 });
  expect(row).toMatchObject({ operation: 'revoke_key', input: { key_id: issued.display } });
});

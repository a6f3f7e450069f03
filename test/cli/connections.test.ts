import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import { silentLog } from '../../src/kit/log.ts';
import { openStore } from '../../src/store/open-store.ts';
import { createAccount } from '../store/builders.ts';
import { connectAssistant } from '../store/connect-assistant.ts';
import { documents, operatorOf, temporaryDataFolder } from './run-cli.ts';

const openConnection = async (more: { label?: string } = {}) => {
  const dataDir = await temporaryDataFolder();
  const store = await openStore({ databaseUrl: null, dataDir }, { log: silentLog, inThisThread: true });
  onTestFinished(() => store.close());
  const { id: accountId } = await createAccount(
    { store, clock: systemClock },
    { name: 'Acme', status: 'active' },
  );
  const { connectionId } = await connectAssistant(store, { accountId, now: Date.now(), ...more });
  return { accountId, connectionId, ...operatorOf({ DATA_DIR: dataDir }, { subject: 'connections' }) };
};

test('connections are listed with what they may spend, limited, and revoked for good', async () => {
  const { accountId, connectionId, answer, print, refusal } = await openConnection();
  const { stdout } = await print('list', accountId);
  expect(stdout).toMatch(/assistant\.example .* 0\.00 of 5\.00 +0\.00 +- +read,generate/);
  const limited = await answer(
    documents.connection,
    'limit',
    connectionId,
    '--budget-day',
    'none',
    '--budget-total',
    '80',
    '--ask-above',
    '0.50',
  );
  expect(limited.connection).toMatchObject({
    budget_day_usd: null,
    budget_total_usd: '80.00',
    ask_above_usd: '0.50',
  });
  expect(await refusal('limit', connectionId, '--budget-total', 'none')).toMatchObject({
    code: 'invalid_usage',
  });
  const [listed] = (await answer(documents.connections, 'list', accountId)).connections;
  expect(listed).toEqual(limited.connection);
  const { connection } = await answer(documents.connection, 'revoke', connectionId);
  expect(connection.revoked_at).toEqual(expect.any(String));
  expect(await answer(documents.connection, 'revoke', connectionId)).toEqual({ connection });
  expect(await refusal('limit', connectionId, '--budget-day', '5')).toMatchObject({ code: 'invalid_value' });
});

test('a name that an assistant gives itself does not stand where a host does', async () => {
  const { accountId, connectionId, print } = await openConnection({ label: 'Assistant' });
  expect((await print('list', accountId)).stdout).toContain(' a program that calls itself Assistant ');
  const { stdout } = await print('revoke', connectionId);
  expect(stdout).toContain('a program that calls itself Assistant (');
});

test.each(['limit', 'revoke'])('%s refuses what is no connection', async (command) => {
  const { refusal } = await openConnection();
  expect(await refusal(command, 'nothing')).toMatchObject({ code: 'connection_not_found' });
});

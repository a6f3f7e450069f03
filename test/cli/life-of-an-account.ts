import { expect } from 'vitest';
import type { z } from 'zod';
import { sha256 } from '../../src/kit/ids.ts';
import { parseUsd } from '../../src/kit/money.ts';
import type { Store } from '../../src/store/store.ts';
import { documents, type operatorOf } from './run-cli.ts';

/**
 * Leads an account through its whole life with the operator's commands, and looks at every step through `gateway`,
 * which has the same store open. Answers the last ledger check.
 */
export const leadLifeOfAnAccount = async (
  operator: ReturnType<typeof operatorOf>,
  gateway: Store,
): Promise<z.infer<typeof documents.ledger>> => {
  const { account } = await operator.answer(documents.account, 'accounts', 'create', '--name', ' Acme Ltd ');
  expect(account).toMatchObject({ name: 'Acme Ltd', status: 'pending', balance_usd: '0.00' });
  expect(await operator.refusal('keys', 'issue', account.id)).toMatchObject({
    exitCode: 1,
    code: 'account_not_active',
  });

  const approved = await operator.answer(documents.accountChange, 'accounts', 'approve', account.id);
  expect(approved).toMatchObject({ changed: true, account: { status: 'active' } });

  const label = ['--label', 'production'];
  const issued = await operator.answer(documents.issuedKey, 'keys', 'issue', account.id, ...label);
  expect(issued.key).toMatch(/^sk_causeway_/);
  expect(issued.api_key.display).toBe(`${issued.key.slice(0, 16)}…${issued.key.slice(-4)}`);
  expect(await gateway.findKey(sha256(issued.key))).toMatchObject({
    key: { id: issued.api_key.id, revokedAt: null },
    account: { id: account.id, status: 'active' },
  });

  await operator.answer(documents.posted, 'credit', account.id, '25', '--reason', 'Invoice 2041');
  const adjusted = await operator.answer(
    documents.posted,
    'adjust',
    account.id,
    '-5.00',
    '--reason',
    'Twice',
  );
  expect(adjusted).toMatchObject({
    balance_usd: '20.00',
    entry: { type: 'adjustment', amount_usd: '-5.00', reason: 'Twice', job_id: null },
  });
  expect((await gateway.getAccount(account.id))?.balance).toBe(parseUsd('20'));

  const second = await operator.answer(documents.issuedKey, 'keys', 'issue', account.id);
  await operator.answer(documents.apiKey, 'keys', 'revoke', issued.api_key.id);
  await operator.answer(documents.apiKey, 'keys', 'revoke', second.key);
  expect((await gateway.findKey(sha256(issued.key)))?.key.revokedAt).toBeTypeOf('number');
  const { api_keys: keys } = await operator.answer(documents.apiKeys, 'keys', 'list', account.id);
  expect(keys.map(({ id }) => id)).toEqual([second.api_key.id, issued.api_key.id]);
  expect(keys.every(({ revoked_at: revokedAt }) => revokedAt !== null)).toBe(true);

  await operator.answer(documents.accountChange, 'accounts', 'suspend', account.id);
  expect((await gateway.findKey(sha256(issued.key)))?.account.status).toBe('suspended');
  const again = await operator.answer(documents.accountChange, 'accounts', 'suspend', account.id);
  expect(again.changed).toBe(false);

  const { accounts } = await operator.answer(documents.accounts, 'accounts', 'list');
  expect(accounts).toContainEqual({
    ...account,
    status: 'suspended',
    balance_usd: '20.00',
    ledger_usd: '20.00',
  });
  return operator.answer(documents.ledger, 'ledger', 'check');
};

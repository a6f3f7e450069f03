import {
  accountColumns,
  apiKeyColumns,
  toAccount,
  toApiKey,
  type AccountRow,
  type ApiKeyRow,
} from '../rows.ts';
import type { Account, AccountStatus, ApiKey, NewAccount, NewApiKey } from '../store.ts';
import { eachOf, firstOf, onlyOf, type Statement } from './statement.ts';

export const createAccount: Statement<NewAccount, AccountRow, Account> = {
  name: 'create_account',
  text: () => `insert into accounts (id, name, status, status_changed_at, created_at, sandbox)
    values ($1, $2, $3, $4, $4, $5) returning ${accountColumns}`,
  values: ({ id, name, status, isSandbox = false, now }) => [id, name, status, now, isSandbox ? 1 : 0],
  read: onlyOf(toAccount),
};

export const getAccount: Statement<string, AccountRow, Account | null> = {
  name: 'get_account',
  text: () => `select ${accountColumns} from accounts where id = $1`,
  values: (id) => [id],
  read: firstOf(toAccount),
};

export const listAccounts: Statement<{ limit: number; afterId?: string }, AccountRow, Account[]> = {
  name: 'list_accounts',
  text: () => `select ${accountColumns} from accounts
    where cast($2 as text) is null or (created_at, id) > (select created_at, id from accounts where id = $2)
    order by created_at, id limit $1`,
  values: ({ limit, afterId }) => [limit, afterId ?? null],
  read: eachOf(toAccount),
};

export const setAccountStatus: Statement<
  { id: string; status: AccountStatus; now: number },
  AccountRow,
  Account | null
> = {
  name: 'set_account_status',
  text: () =>
    `update accounts set status = $2, status_changed_at = $3 where id = $1 returning ${accountColumns}`,
  values: ({ id, status, now }) => [id, status, now],
  read: firstOf(toAccount),
};

export const setAccountTerms: Statement<{ id: string; terms: string | null }, AccountRow, Account | null> = {
  name: 'set_account_terms',
  text: () => `update accounts set terms = $2 where id = $1 returning ${accountColumns}`,
  values: ({ id, terms }) => [id, terms],
  read: firstOf(toAccount),
};

export const createKey: Statement<NewApiKey, ApiKeyRow, ApiKey> = {
  name: 'create_key',
  text: () => `insert into api_keys (id, account_id, hash, display, label, created_at)
    values ($1, $2, $3, $4, $5, $6) returning ${apiKeyColumns}`,
  values: ({ id, accountId, hash, display, label, now }) => [id, accountId, hash, display, label, now],
  read: onlyOf(toApiKey),
};

export const listKeys: Statement<string, ApiKeyRow, ApiKey[]> = {
  name: 'list_keys',
  text: () => `select ${apiKeyColumns} from api_keys where account_id = $1 order by created_at, id`,
  values: (accountId) => [accountId],
  read: eachOf(toApiKey),
};

export const revokeKey: Statement<{ id: string; now: number }, ApiKeyRow, ApiKey | null> = {
  name: 'revoke_key',
  text: () =>
    `update api_keys set revoked_at = coalesce(revoked_at, $2) where id = $1 returning ${apiKeyColumns}`,
  values: ({ id, now }) => [id, now],
  read: firstOf(toApiKey),
};

interface KeyWithAccountRow extends ApiKeyRow {
  account_name: string;
  account_status: AccountStatus;
  balance: bigint;
  held: bigint;
  terms: string | null;
  sandbox: bigint;
  account_created_at: bigint;
}

export const findKey: Statement<string, KeyWithAccountRow, { key: ApiKey; account: Account } | null> = {
  name: 'find_key',
  text: () => `select k.id, k.account_id, k.display, k.label, k.created_at, k.revoked_at,
      a.name as account_name, a.status as account_status, a.balance, a.held, a.terms, a.sandbox,
      a.created_at as account_created_at
    from api_keys k join accounts a on a.id = k.account_id where k.hash = $1`,
  values: (hash) => [hash],
  read: firstOf((row: KeyWithAccountRow) => ({
    key: toApiKey(row),
    account: toAccount({
      id: row.account_id,
      name: row.account_name,
      status: row.account_status,
      balance: row.balance,
      held: row.held,
      terms: row.terms,
      sandbox: row.sandbox,
      created_at: row.account_created_at,
    }),
  })),
};

import { columns, flag, int64, named, orNull, text, time, type RowOf } from '../columns.ts';
import { read, readBy, write } from '../command.ts';
import { eachOf, firstOf, onlyOf, valuesOf } from '../statement.ts';
import { callerKeys } from './key-table.ts';

export type AccountStatus = 'pending' | 'active' | 'suspended';

const accountFields = {
  id: text(),
  name: text(),
  status: text<AccountStatus>(),
  /** Sum of the account's ledger entries. */
  balance: int64(),
  /** Sum of its open holds. Available is `balance - held`. */
  held: int64(),
  /** JSON text of the account's own SKUs, rates and limits; null for the operator's defaults. */
  terms: orNull(text()),
  /** True if its money is sandbox credit, which buys sandbox SKUs only. */
  isSandbox: named('sandbox', flag()),
  /** The wallet that owns it, as `walletOf` names it; null for an account that an operator made. */
  wallet: orNull(text()),
  createdAt: time(),
};
export type Account = RowOf<typeof accountFields>;
const accounts = columns(accountFields);

export interface NewAccount {
  id: string;
  name: string;
  status: AccountStatus;
  /** Default: false. */
  isSandbox?: boolean;
  now: number;
}

export const createAccount = write({
  text: `insert into accounts (id, name, status, status_changed_at, created_at, sandbox)
    values ($1, $2, $3, $4, $4, $5) returning ${accounts.list()}`,
  values: ({ id, name, status, isSandbox = false, now }: NewAccount) => [
    id,
    name,
    status,
    now,
    isSandbox ? 1 : 0,
  ],
  read: onlyOf(accounts.read),
});

export const getAccount = readBy('accounts', 'id', accounts);

/** Lists the oldest first, after the account `afterId` if given. */
export const listAccounts = read({
  text: `select ${accounts.list()} from accounts
    where cast($2 as text) is null or (created_at, id) > (select created_at, id from accounts where id = $2)
    order by created_at, id limit $1`,
  values: valuesOf<{ limit: number; afterId?: string }>('limit', 'afterId'),
  read: eachOf(accounts.read),
});

/** Null if there is no such account. */
export const setAccountStatus = write({
  text: `update accounts set status = $2, status_changed_at = $3 where id = $1 returning ${accounts.list()}`,
  values: valuesOf<{ id: string; status: AccountStatus; now: number }>('id', 'status', 'now'),
  read: firstOf(accounts.read),
});

/** Replaces the account's own terms (JSON text, see src/accounts/catalog); null for the defaults. Null if there is no such account. */
export const setAccountTerms = write({
  text: `update accounts set terms = $2 where id = $1 returning ${accounts.list()}`,
  values: valuesOf<{ id: string; terms: string | null }>('id', 'terms'),
  read: firstOf(accounts.read),
});

/** The account of a key; the row has the key's own id and creation. */
const accountsOfKeys = columns({
  ...accountFields,
  id: named('account_id', text()),
  name: named('account_name', text()),
  status: named('account_status', text<AccountStatus>()),
  createdAt: named('account_created_at', time()),
  /** The current one; null if the account has none yet. */
  webhookSecret: orNull(text()),
});

const callersBy = (column: 'hash' | 'id') => ({
  text: `select ${callerKeys.list('k.')}, a.name as account_name, a.status as account_status, a.balance, a.held, a.terms,
      a.sandbox, a.wallet, a.created_at as account_created_at, a.webhook_secret
    from api_keys k join accounts a on a.id = k.account_id where k.${column} = $1`,
  values: (value: string) => [value],
  read: firstOf((row: Record<string, never>) => ({
    key: callerKeys.read(row),
    account: accountsOfKeys.read(row),
  })),
});

/** Finds the key with this SHA-256, revoked or not, and its account. */
export const findKey = read(callersBy('hash'));

/** As `findKey`, by the id of the key. */
export const findCallerById = read(callersBy('id'));

/** The account's webhook secrets. `previous` is set during a rotation. */
export interface WebhookSecrets {
  current: string;
  previous: { secret: string; until: number } | null;
}

const secrets = columns({
  current: named('webhook_secret', text()),
  secret: named('webhook_secret_previous', orNull(text())),
  until: named('webhook_previous_until', orNull(time())),
});

const toSecrets = (row: Record<string, never>): WebhookSecrets => {
  const { current, secret, until } = secrets.read(row);
  return { current, previous: secret === null || until === null ? null : { secret, until } };
};

/** Returns the account's webhook secrets; `secret` is the first one if it has none. Null if there is no such account. */
export const ensureWebhookSecret = write({
  text: `update accounts set webhook_secret = coalesce(webhook_secret, $2) where id = $1
    returning ${secrets.list()}`,
  values: valuesOf<{ accountId: string; secret: string }>('accountId', 'secret'),
  read: firstOf(toSecrets),
});

/**
 * Makes `secret` the current one. The previous one also signs until `previousUntil`. Null if there is no such account. A
 * repeated call with the same secret changes nothing, so a repetition does not lose the previous secret.
 */
export const rotateWebhookSecret = write({
  text: `update accounts set
      webhook_secret_previous =
        case when webhook_secret = $2 then webhook_secret_previous else webhook_secret end,
      webhook_previous_until = case
        when webhook_secret = $2 then webhook_previous_until
        when webhook_secret is not null then cast($3 as bigint) end,
      webhook_secret = $2
    where id = $1 returning ${secrets.list()}`,
  values: valuesOf<{ accountId: string; secret: string; previousUntil: number }>(
    'accountId',
    'secret',
    'previousUntil',
  ),
  read: firstOf(toSecrets),
});

/** Null if there is no such account, or it has no secret yet. */
export const getWebhookSecrets = read({
  text: `select ${secrets.list()} from accounts where id = $1 and webhook_secret is not null`,
  values: (accountId: string) => [accountId],
  read: firstOf(toSecrets),
});

import { columns, named, orNull, text, time } from '../columns.ts';
import { read, readBy, write } from '../command.ts';
import { eachOf, firstOf, onlyOf, valuesOf } from '../statement.ts';
import { accounts, callerColumns, toFoundKey, type AccountStatus } from './account-table.ts';

export interface NewAccount {
  id: string;
  name: string;
  status: AccountStatus;
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

/** Finds the key with this SHA-256, revoked or not, and its account. */
export const findKey = read({
  text: `select ${callerColumns} from api_keys k join accounts a on a.id = k.account_id where k.hash = $1`,
  values: (hash: string) => [hash],
  read: firstOf(toFoundKey),
});

export type WebhookSecrets = ReturnType<typeof toSecrets>;

const secrets = columns({
  current: named('webhook_secret', text()),
  secret: named('webhook_secret_previous', orNull(text())),
  until: named('webhook_previous_until', orNull(time())),
});

const toSecrets = (row: Record<string, never>) => {
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

interface Rotation {
  accountId: string;
  secret: string;
  previousUntil: number;
  /** Nothing changes if a previous secret signs at this time. Absent: it ends. */
  now?: number;
}

const isRotated = `(webhook_secret = $2 or webhook_previous_until > cast($4 as bigint))`;

/**
 * Makes `secret` the current one. The previous one also signs until `previousUntil`. Null if there is no such account. A
 * repeated call with the same secret changes nothing, so a repetition does not lose the previous secret.
 */
export const rotateWebhookSecret = write({
  text: `update accounts set
      webhook_secret_previous = case when ${isRotated} then webhook_secret_previous else webhook_secret end,
      webhook_previous_until = case
        when ${isRotated} then webhook_previous_until
        when webhook_secret is not null then cast($3 as bigint) end,
      webhook_secret = case when ${isRotated} then webhook_secret else $2 end
    where id = $1 returning ${secrets.list()}`,
  values: valuesOf<Rotation>('accountId', 'secret', 'previousUntil', 'now'),
  read: firstOf(toSecrets),
});

/** Null if there is no such account, or it has no secret yet. */
export const getWebhookSecrets = read({
  text: `select ${secrets.list()} from accounts where id = $1 and webhook_secret is not null`,
  values: (accountId: string) => [accountId],
  read: firstOf(toSecrets),
});

import { columns, int64, json, orNull, text, time, type RowOf } from '../columns.ts';
import { read, readSteps, run, writeTransaction, type Steps } from '../command.ts';
import { eachOf, firstOf, statement, valuesOf } from '../statement.ts';
import {
  changeLimits,
  noLimits,
  periodNames,
  type KeyLimits,
  type LimitChanges,
} from '../../rules/key-limits.ts';
import type { Nano } from '../../kit/money.ts';
import { callerColumns, toFoundKey } from './account-table.ts';
import { pageValues, type Page } from './history-page.ts';
import { insertKey, keys, selectUsedKeys, usedKeys, writeKey } from './key-table.ts';

/** What an assistant said of itself, and the hosts that it cannot invent. */
export interface ConnectionClient {
  id: string;
  name: string;
  /** The host of the address to which its person returned; a scheme of an app as `cursor:`. */
  redirect: string;
}

const connectionFields = {
  /** The key that made it, whose end is also its end, and whose budgets count its charges, too. */
  parentId: text(),
  scopes: json<string[]>(),
  /** The mounted servers whose tools it may call. */
  servers: json<string[]>(),
  /** The path of the address that its tokens open, and no other. */
  resource: text(),
  client: json<ConnectionClient>(),
  /** A call that may cost more needs a confirmation; null: none does. */
  askAbove: orNull(int64()),
};
const connectionColumns = columns(connectionFields);
/** What a connection is beside a key. */
export type ConnectionFacts = RowOf<typeof connectionFields>;

/** `now`: a parameter, as `day` and `month` are. */
const selectConnections = (day: string, month: string, now: string): string =>
  selectUsedKeys(day, month, {
    columns: `${connectionColumns.list('c.')}, (select min(t.ended) from (
      select k.revoked_at as ended union all select p.revoked_at
      union all select p.expires_at where p.expires_at <= ${now}) as t) as ended_at`,
    join: 'join connections c on c.id = k.id join api_keys p on p.id = c.parent_id',
  });

/** Its own end, or that of the key that made it, whichever came first. */
const ends = columns({ endedAt: orNull(time()) });

const usedConnections = (row: Record<string, never>) => ({
  ...usedKeys.read(row),
  ...connectionColumns.read(row),
  ...ends.read(row),
});
export type Connection = ReturnType<typeof usedConnections>;

export interface NewConnection extends ConnectionFacts {
  id: string;
  accountId: string;
  /** SHA-256 of the id of the OAuth grant. */
  grantId: string;
  label: string;
  limits: Partial<KeyLimits>;
  now: number;
}

const newConnections = columns({ id: text(), grantId: text(), ...connectionFields, client: text() });

const insertConnection = statement({
  text: `insert into connections (${newConnections.list()}) values (${newConnections.parameters()})`,
  values: ({ client, ...connection }: NewConnection) =>
    newConnections.values({ ...connection, client: JSON.stringify(client) }),
});

/**
 * Makes a connection. No API key opens it: its tokens are records of its grant. It ends by itself at `limits.expiresAt`,
 * unless a token is kept before, which takes that limit away.
 */
export const createConnection = writeTransaction(function* (connection: NewConnection): Steps<void> {
  const { id, accountId, grantId, label, limits, parentId, now } = connection;
  const key = { id, accountId, hash: `grant:${grantId}`, display: 'connection', label, now };
  yield* run(insertKey, { ...key, madeBy: parentId, limits: { ...noLimits, ...limits } });
  yield* run(insertConnection, connection);
});

/** Lists the connections of an account that ever had a token, by `createdAt`, then id, both descending, after the position `before`. */
export const listConnections = read({
  text: `${selectConnections('$5', '$6', '$7')}
    where k.account_id = $1 and (k.created_at, k.id) < ($2, $3) and k.expires_at is null
    order by k.created_at desc, k.id desc limit $4`,
  values: ({ now, ...page }: Page & { now: number }) => [...pageValues(page), ...periodNames(now), now],
  read: eachOf(usedConnections),
});

interface OwnConnection {
  id: string;
  /** Default: that of any account. */
  accountId?: string | undefined;
}

/** Null if there is no such connection. */
export const getConnection = read({
  text: `${selectConnections('$3', '$4', '$5')} where k.id = $1 and (cast($2 as text) is null or k.account_id = $2)`,
  values: ({ id, accountId, now }: OwnConnection & { now: number }) => [
    id,
    accountId ?? null,
    ...periodNames(now),
    now,
  ],
  read: firstOf(usedConnections),
});

const lockConnection = statement({
  text: ({ lockRows }) => `select ${keys.list()} from api_keys
    where id = $1 and revoked_at is null and (cast($2 as text) is null or account_id = $2)
      and exists (select 1 from connections c join api_keys p on p.id = c.parent_id
        where c.id = $1 and p.revoked_at is null and (p.expires_at is null or p.expires_at > $3)) ${lockRows}`,
  values: ({ id, accountId, now }: OwnConnection & { now: number }) => [id, accountId ?? null, now],
  read: firstOf(keys.read),
});

const writeAskAbove = statement({
  text: 'update connections set ask_above = $2 where id = $1',
  values: valuesOf<{ id: string; askAbove: Nano | null }>('id', 'askAbove'),
});

/**
 * Changes the limits that are given, from the next call on. `ended`: there is no such connection, or it has ended.
 * `unlimited`: none would be left, so nothing was changed.
 */
export const changeConnection = writeTransaction(function* ({
  id,
  accountId,
  askAbove,
  now,
  ...changes
}: OwnConnection &
  Pick<LimitChanges, 'budgetDay' | 'budgetTotal'> & {
    askAbove?: Nano | null | undefined;
    now: number;
  }): Steps<'changed' | 'ended' | 'unlimited'> {
  const key = yield* run(lockConnection, { id, accountId, now });
  if (key === null) return 'ended';
  const limits = changeLimits(key, changes);
  if ((limits.budgetDay ?? limits.budgetTotal) === null) return 'unlimited';
  yield* run(writeKey, { ...key, ...limits });
  if (askAbove !== undefined) yield* run(writeAskAbove, { id, askAbove });
  return 'changed';
});

/** Either a connection of an account, or of any; or the one of a grant (SHA-256 of its id). */
export type ConnectionName = { id: string; accountId?: string } | { grantId: string };

const findGrant = statement({
  text: `select c.id, c.grant_id from connections c join api_keys k on k.id = c.id
    where (c.id = $1 or c.grant_id = $2) and (cast($3 as text) is null or k.account_id = $3)`,
  values: (name: ConnectionName) =>
    'grantId' in name ? [null, name.grantId, null] : [name.id, null, name.accountId ?? null],
  read: firstOf((row: { id: string; grant_id: string }) => row),
});

const endKey = statement({
  text: 'update api_keys set revoked_at = coalesce(revoked_at, $2) where id = $1',
  values: ({ id, now }: { id: string; now: number }) => [id, now],
});

const deleteRecords = statement({
  text: `delete from oauth_records where grant_id = $1 or (model = 'Grant' and id = $1)`,
  values: (grantId: string) => [grantId],
});

/** Ends a connection and its tokens at once. Ending again keeps the first time. False if there is none. */
export const endConnection = writeTransaction(function* ({
  now,
  ...name
}: ConnectionName & { now: number }): Steps<boolean> {
  const found = yield* run(findGrant, name);
  const grantId = found?.grant_id ?? ('grantId' in name ? name.grantId : null);
  if (grantId !== null) yield* run(deleteRecords, grantId);
  if (found !== null) yield* run(endKey, { id: found.id, now });
  return found !== null;
});

/** SQL: a connection with its key, then with the key that made it, and their account. */
const foundBy = (connections: string, payload: string): string =>
  `select ${callerColumns}, ${connectionColumns.list('c.')}, ${payload} as payload
  from ${connections} join api_keys k on k.id in (c.id, c.parent_id) join accounts a on a.id = k.account_id`;
const ownFirst = 'order by case when k.id = c.id then 0 else 1 end';

const toFound = ([own, parent]: Record<string, never>[]) => {
  if (own === undefined || parent === undefined) return null;
  const payload: string = own['payload'] ?? '{}';
  // The stored text has a control character in place of the token.
  const { scope }: { scope?: string } = JSON.parse(payload.replaceAll('\u0001', ''));
  // A token that names no scope has those of its connection, as the person was shown.
  const named = scope ? scope.split(' ') : null;
  const { scopes, ...facts } = connectionColumns.read(own);
  return {
    ...toFoundKey(own),
    ...facts,
    scopes: named === null ? scopes : scopes.filter((one) => named.includes(one)),
    parent: toFoundKey(parent).key,
  };
};

const byToken = statement({
  text: `${foundBy('oauth_records t join connections c on c.grant_id = t.grant_id', 't.payload')}
    where t.model = 'AccessToken' and t.id = $1 and t.expires_at > $2 ${ownFirst}`,
  values: valuesOf<{ token: string; now: number }>('token', 'now'),
  read: toFound,
});

const byGrant = statement({
  text: `${foundBy('connections c', 'null')} where c.grant_id = $1 ${ownFirst}`,
  values: valuesOf<{ grantId: string }>('grantId'),
  read: toFound,
});

/**
 * Finds the connection of an access token, or of a grant (SHA-256 of either), with its key, the key that made it, and their
 * account. `scopes`: at most those of the token. Null if there is none.
 */
export const findConnection = readSteps((name: { token: string; now: number } | { grantId: string }) =>
  'token' in name ? run(byToken, name) : run(byGrant, name),
);

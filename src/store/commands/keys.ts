import { read, run, write, writeTransaction, type Steps } from '../command.ts';
import { eachOf, firstOf, onlyOf, statement, valuesOf } from '../statement.ts';
import { pageValues, type Page } from './history-page.ts';
import {
  countedKeys,
  insertKey,
  keys,
  selectUsedKeys,
  usedKeys,
  writeKey,
  type ApiKey,
  type NewApiKey,
} from './key-table.ts';
import { lockAvailable } from './payment-credit.ts';
import {
  changeLimits,
  noLimits,
  periodNames,
  signInMaker,
  type LimitChanges,
} from '../../rules/key-limits.ts';

/** Whoever has any key of the account makes connections, and its wallet signs in anew: neither may use up its keys. */
const countKeys = statement({
  text: `select count(*) as keys from api_keys
    where account_id = $1 and made_by not in ('operator', '${signInMaker}')
      and not exists (select 1 from connections c where c.id = api_keys.id)`,
  values: (accountId: string) => [accountId],
  read: onlyOf(({ keys: count }: { keys: bigint }) => Number(count)),
});

export const createKey = writeTransaction(
  function* (input: NewApiKey): Steps<ApiKey | null> {
    const { accountId, maxKeys } = input;
    if (maxKeys !== undefined) {
      yield* run(lockAvailable, accountId);
      if ((yield* run(countKeys, accountId)) >= maxKeys) return null;
    }
    return yield* run(insertKey, input);
  },
  { accountOf: ({ accountId }) => accountId },
);

export interface NewSignInKey extends Omit<NewApiKey, 'madeBy' | 'limits' | 'maxKeys'> {
  expiresAt: number;
  /** The most keys from sign-ins that the account can use at once, with this one. */
  maxKeys: number;
}

/** Leaves the newest of the keys from sign-ins, one fewer than `maxKeys`, and those that made connections. */
const revokeOldest = statement({
  text: `update api_keys set revoked_at = $2 where id in (
      select id from api_keys
      where account_id = $1 and made_by = '${signInMaker}' and revoked_at is null
        and (expires_at is null or expires_at > $2)
        and not exists (select 1 from connections c where c.parent_id = api_keys.id)
      order by created_at desc, id desc limit 1000 offset $3
    )`,
  values: ({ accountId, now, maxKeys }: NewSignInKey) => [accountId, now, maxKeys - 1],
});

/** Adds a key from a sign-in. When there are `maxKeys`, the oldest one is revoked. */
export const createSignInKey = writeTransaction(
  function* (input: NewSignInKey): Steps<ApiKey> {
    yield* run(lockAvailable, input.accountId);
    yield* run(revokeOldest, input);
    const { expiresAt, maxKeys: _maxKeys, ...key } = input;
    return yield* run(insertKey, { ...key, madeBy: signInMaker, limits: { ...noLimits, expiresAt } });
  },
  { accountOf: ({ accountId }) => accountId },
);

/**
 * SQL: the key is no connection, and not the one for calls that a wallet pays one by one. Nobody sees or changes that
 * key: without it a wallet would pay for calls that are refused.
 */
const isIssued = (table: string): string =>
  `not exists (select 1 from accounts a where a.id = ${table}.account_id and a.wallet_key = ${table}.id)
    and not exists (select 1 from connections c where c.id = ${table}.id)`;

/** Lists the keys of an account by `createdAt`, then id, both descending, after the position `before`. */
export const listKeys = read({
  text: `${selectUsedKeys('$5', '$6')}
    where k.account_id = $1 and (k.created_at, k.id) < ($2, $3) and ${isIssued('k')}
    order by k.created_at desc, k.id desc limit $4`,
  values: ({ now, ...page }: Page & { now: number }) => [...pageValues(page), ...periodNames(now)],
  read: eachOf(usedKeys.read),
});

export const getKey = read({
  text: `${selectUsedKeys('$3', '$4')}
    where k.id = $1 and (cast($2 as text) is null or k.account_id = $2) and ${isIssued('k')}`,
  values: ({ id, accountId, now }: { id: string; accountId?: string; now: number }) => [
    id,
    accountId ?? null,
    ...periodNames(now),
  ],
  read: firstOf(usedKeys.read),
});

/** Reads the keys in whose budgets a charge of this key counts. */
export const listCountedKeys = read({
  text: `${selectUsedKeys('$2', '$3')} where k.id in ${countedKeys('$1')}`,
  values: ({ keyId, time }: { keyId: string; time: number }) => [keyId, ...periodNames(time)],
  read: eachOf(usedKeys.read),
});

const lockKey = statement({
  text: ({ lockRows }) =>
    `select ${keys.list()} from api_keys where id = $1 and revoked_at is null and ${isIssued('api_keys')} ${lockRows}`,
  values: (id: string) => [id],
  read: firstOf(keys.read),
});

export interface KeyChanges extends LimitChanges {
  id: string;
  label?: string | undefined;
}

/** A call under way keeps the limits that it began with. False if there is no such key, or it is revoked. */
export const changeKey = writeTransaction(function* (changes: KeyChanges): Steps<boolean> {
  const key = yield* run(lockKey, changes.id);
  if (key === null) return false;
  yield* run(writeKey, { ...key, ...changeLimits(key, changes), label: changes.label ?? key.label });
  return true;
});

/** Null if there is no such key. Revoking again keeps the first time. */
export const revokeKey = write({
  text: `update api_keys set revoked_at = coalesce(revoked_at, $2) where id = $1 and ${isIssued('api_keys')}
    returning ${keys.list()}`,
  values: valuesOf<{ id: string; now: number }>('id', 'now'),
  read: firstOf(keys.read),
});

/** Notes a use of keys, connections too, unless a later one is noted. Keys that are being changed are left out. */
export const writeLastUse = write({
  text: ({ isOneOf, lockFreeRows }) => `with used as (
      select id from api_keys where ${isOneOf('id', '$1')} and (last_used_at is null or last_used_at < $2) ${lockFreeRows}
    )
    update api_keys set last_used_at = $2 where id in (select id from used)`,
  values: valuesOf<{ ids: readonly string[]; at: number }>('ids', 'at'),
});

import { columns, int64, json, omit, orNull, text, time, type RowOf } from '../columns.ts';
import { onlyOf, statement } from '../statement.ts';
import { noLimits, type KeyLimits } from '../../rules/key-limits.ts';

const limitFields = {
  expiresAt: orNull(time()),
  models: orNull(json<string[]>()),
  tools: orNull(json<string[]>()),
  budgetDay: orNull(int64()),
  budgetMonth: orNull(int64()),
  budgetTotal: orNull(int64()),
  alertUrl: orNull(text()),
  usageTag: orNull(text()),
} satisfies Record<keyof KeyLimits, unknown>;

const keyFields = {
  id: text(),
  accountId: text(),
  /** First and last characters, for people. */
  display: text(),
  label: text(),
  /** `operator`, `wallet` (a sign-in), or the id of the key that made it; null for a key of an older version. */
  madeBy: orNull(text()),
  createdAt: time(),
  revokedAt: orNull(time()),
  /** To the minute, and not at once; null: never. */
  lastUsedAt: orNull(time()),
  ...limitFields,
};
export type ApiKey = RowOf<typeof keyFields>;
export const keys = columns(keyFields);
const limits = columns(limitFields);
const newKeys = columns({ ...keyFields, hash: text() });

export interface NewApiKey extends Pick<ApiKey, 'id' | 'accountId' | 'display' | 'label'> {
  /** SHA-256 of the key; the key itself is never stored. */
  hash: string;
  limits?: KeyLimits;
  madeBy?: string | null;
  /** The most keys, revoked ones too, that the account's own keys may have made then. Default: no limit. */
  maxKeys?: number;
  now: number;
}

export const insertKey = statement({
  text: `insert into api_keys (${newKeys.list()}) values (${newKeys.parameters()}) returning ${keys.list()}`,
  values: ({ now, madeBy = null, limits: given = noLimits, ...key }: NewApiKey) =>
    newKeys.values({ ...key, ...given, madeBy, createdAt: now, revokedAt: null, lastUsedAt: null }),
  read: onlyOf(keys.read),
});

export const writeKey = statement({
  text: `update api_keys set label = $2, expires_at = $3, models = $4, tools = $5, budget_day = $6,
      budget_month = $7, budget_total = $8, alert_url = $9, usage_tag = $10
    where id = $1`,
  values: (key: ApiKey) => [key.id, key.label, ...limits.values(key)],
});

/** The fields that decide what a caller may do, which are read on every call. */
export const callerKeys = columns(omit(keyFields, 'display', 'label', 'createdAt', 'lastUsedAt', 'alertUrl'));

const useFields = {
  daySpent: int64(),
  dayHeld: int64(),
  monthSpent: int64(),
  monthHeld: int64(),
  totalSpent: int64(),
  totalHeld: int64(),
};
export type UsedKey = ApiKey & RowOf<typeof useFields>;
export const usedKeys = columns({ ...keyFields, ...useFields });

/** Reads keys with their use, and columns of another table. `day` and `month` are parameters with `periodNames`. */
export const selectUsedKeys = (
  day: string,
  month: string,
  beside: { columns: string; join: string } | null = null,
): string => `select ${keys.list('k.')},${beside === null ? '' : `${beside.columns},`}
    coalesce(d.spent, 0) as day_spent, coalesce(d.held, 0) as day_held,
    coalesce(m.spent, 0) as month_spent, coalesce(m.held, 0) as month_held,
    coalesce(t.spent, 0) as total_spent, coalesce(t.held, 0) as total_held
  from api_keys k ${beside?.join ?? ''}
  left join key_use d on d.key_id = k.id and d.period = ${day}
  left join key_use m on m.key_id = k.id and m.period = ${month}
  left join key_use t on t.key_id = k.id and t.period = 'total'`;

/** SQL: the key, and the one that made it if it is a connection. A charge counts in the budgets of both. */
export const countedKeys = (key: string): string =>
  `(${key}, coalesce((select parent_id from connections where id = ${key}), ${key}))`;

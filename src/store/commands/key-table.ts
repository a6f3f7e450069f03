import { columns, int64, json, orNull, pick, text, time, type RowOf } from '../columns.ts';

/** The periods of budgets, in UTC. */
export type BudgetPeriod = 'day' | 'month';

/** Names the period of a time: `2026-11-23`, `2026-11`. */
const periodName = (period: BudgetPeriod, time: number): string =>
  new Date(time).toISOString().slice(0, period === 'day' ? 10 : 7);

/** Returns when the period of a time ends. */
export const periodEnd = (period: BudgetPeriod, time: number): number => {
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return period === 'day' ? Date.UTC(year, month, date.getUTCDate() + 1) : Date.UTC(year, month + 1);
};

/** The names of a time's day and month, for statements that take both. */
export const periodNames = (time: number): [day: string, month: string] => [
  periodName('day', time),
  periodName('month', time),
];

const limitFields = {
  /** From then on the key is refused; null: never. */
  expiresAt: orNull(time()),
  /** The SKUs that it can buy, of those that its account can buy; null: all. */
  models: orNull(json<string[]>()),
  /** The most that it may spend and hold in a UTC day; null: no limit. */
  budgetDay: orNull(int64()),
  /** As `budgetDay`, in a UTC month. */
  budgetMonth: orNull(int64()),
  /** Gets a webhook when a capture reaches 80 % or 100 % of a budget. */
  alertUrl: orNull(text()),
};
/** What an account may do with one of its keys. */
export type KeyLimits = RowOf<typeof limitFields>;

export const noLimits: KeyLimits = {
  expiresAt: null,
  models: null,
  budgetDay: null,
  budgetMonth: null,
  alertUrl: null,
};

/** Members that are left out, or undefined, stay as they are. */
export type LimitChanges = { [Field in keyof KeyLimits]?: KeyLimits[Field] | undefined };

export const changeLimits = (limits: KeyLimits, changes: LimitChanges): KeyLimits => {
  const {
    expiresAt = limits.expiresAt,
    models = limits.models,
    budgetDay = limits.budgetDay,
    budgetMonth = limits.budgetMonth,
    alertUrl = limits.alertUrl,
  } = changes;
  return { expiresAt, models, budgetDay, budgetMonth, alertUrl };
};

/** The maker of keys from sign-ins with a wallet. */
export const signInMaker = 'wallet';

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
  ...limitFields,
};
export type ApiKey = RowOf<typeof keyFields>;
export const keys = columns(keyFields);

/** The fields that decide what a caller may do, which are read on every call. */
export const callerKeys = columns(
  pick(
    keyFields,
    'id',
    'accountId',
    'madeBy',
    'revokedAt',
    'expiresAt',
    'models',
    'budgetDay',
    'budgetMonth',
  ),
);

/** What counted while the key had a budget, in the present day and month. */
const useFields = { daySpent: int64(), dayHeld: int64(), monthSpent: int64(), monthHeld: int64() };
/** A key with its use. */
export type UsedKey = ApiKey & RowOf<typeof useFields>;
/** The use of a new key. */
export const noUse: RowOf<typeof useFields> = { daySpent: 0n, dayHeld: 0n, monthSpent: 0n, monthHeld: 0n };
export const usedKeys = columns({ ...keyFields, ...useFields });

/** Reads keys with their use. `day` and `month` are parameters with `periodNames`. */
export const selectUsedKeys = (day: string, month: string): string => `select ${keys.list('k.')},
    coalesce(d.spent, 0) as day_spent, coalesce(d.held, 0) as day_held,
    coalesce(m.spent, 0) as month_spent, coalesce(m.held, 0) as month_held
  from api_keys k
  left join key_use d on d.key_id = k.id and d.period = ${day}
  left join key_use m on m.key_id = k.id and m.period = ${month}`;

/** One budget of a key and its use. */
export interface Budget {
  period: BudgetPeriod;
  limit: bigint;
  spent: bigint;
  held: bigint;
}

/** Returns the budgets that a key has. */
export const budgetsOf = (key: UsedKey): Budget[] => {
  const { budgetDay, budgetMonth, daySpent, dayHeld, monthSpent, monthHeld } = key;
  const all = [
    { period: 'day' as const, limit: budgetDay, spent: daySpent, held: dayHeld },
    { period: 'month' as const, limit: budgetMonth, spent: monthSpent, held: monthHeld },
  ];
  return all.flatMap(({ limit, ...budget }) => (limit === null ? [] : [{ ...budget, limit }]));
};

/** Returns the budget of the key with the least left, if that does not cover the hold; else null. */
export const shortBudget = (key: UsedKey, hold: bigint): { available: bigint; budget: Budget } | null => {
  const [tightest] = budgetsOf(key)
    .map((budget) => ({ available: budget.limit - budget.spent - budget.held, budget }))
    .sort((a, b) => (a.available < b.available ? -1 : 1));
  return tightest === undefined || tightest.available >= hold ? null : tightest;
};

import type { Nano } from '../kit/money.ts';

/** The periods of budgets: a day and a month in UTC, and all time. */
export type BudgetPeriod = 'day' | 'month' | 'total';

/** Names the period of a time: `2026-11-23`, `2026-11`. That of all time is `total`. */
const periodName = (period: 'day' | 'month', time: number): string =>
  new Date(time).toISOString().slice(0, period === 'day' ? 10 : 7);

/** Returns when the period of a time ends; null: never. */
export const periodEnd = (period: BudgetPeriod, time: number): number | null => {
  if (period === 'total') return null;
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return period === 'day' ? Date.UTC(year, month, date.getUTCDate() + 1) : Date.UTC(year, month + 1);
};

/** The names of a time's day and month, for statements that take both. */
export const periodNames = (time: number): [day: string, month: string] => [
  periodName('day', time),
  periodName('month', time),
];

/** What an account may do with one of its keys. */
export interface KeyLimits {
  /** From then on the key is refused; null: never. */
  expiresAt: number | null;
  /** The SKUs that it can buy, of those that its account can buy; null: all. */
  models: string[] | null;
  /** The most that it may spend and hold in a UTC day; null: no limit. */
  budgetDay: Nano | null;
  /** As `budgetDay`, in a UTC month. */
  budgetMonth: Nano | null;
  /** The most that it may spend and hold in all. */
  budgetTotal: Nano | null;
  /** Gets a webhook when a capture reaches 80 % or 100 % of a budget. */
  alertUrl: string | null;
}

export const noLimits: KeyLimits = {
  expiresAt: null,
  models: null,
  budgetDay: null,
  budgetMonth: null,
  budgetTotal: null,
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
    budgetTotal = limits.budgetTotal,
    alertUrl = limits.alertUrl,
  } = changes;
  return { expiresAt, models, budgetDay, budgetMonth, budgetTotal, alertUrl };
};

/** The maker of keys from sign-ins with a wallet. */
export const signInMaker = 'wallet';

/** What a key spent and holds in the present day and month, and in all. It counts only while the key has a budget. */
export interface KeyUse {
  daySpent: Nano;
  dayHeld: Nano;
  monthSpent: Nano;
  monthHeld: Nano;
  totalSpent: Nano;
  totalHeld: Nano;
}

/** The use of a new key. */
export const noUse: KeyUse = {
  daySpent: 0n,
  dayHeld: 0n,
  monthSpent: 0n,
  monthHeld: 0n,
  totalSpent: 0n,
  totalHeld: 0n,
};

/** One budget of a key and its use. */
export interface Budget {
  period: BudgetPeriod;
  limit: Nano;
  spent: Nano;
  held: Nano;
}

type BudgetedKey = Pick<KeyLimits, 'budgetDay' | 'budgetMonth' | 'budgetTotal'> & KeyUse;

/** Returns the budgets that a key has. */
export const budgetsOf = (key: BudgetedKey): Budget[] => {
  const all = [
    { period: 'day' as const, limit: key.budgetDay, spent: key.daySpent, held: key.dayHeld },
    { period: 'month' as const, limit: key.budgetMonth, spent: key.monthSpent, held: key.monthHeld },
    { period: 'total' as const, limit: key.budgetTotal, spent: key.totalSpent, held: key.totalHeld },
  ];
  return all.flatMap(({ limit, ...budget }) => (limit === null ? [] : [{ ...budget, limit }]));
};

/** Returns the budget of the keys with the least left, if that does not cover the hold; else null. */
export const shortBudget = (
  keys: readonly BudgetedKey[],
  hold: Nano,
): { available: Nano; budget: Budget } | null => {
  const [tightest] = keys
    .flatMap(budgetsOf)
    .map((budget) => ({ available: budget.limit - budget.spent - budget.held, budget }))
    .sort((a, b) => (a.available < b.available ? -1 : 1));
  return tightest === undefined || tightest.available >= hold ? null : tightest;
};

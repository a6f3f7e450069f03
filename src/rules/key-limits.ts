import type { Nano } from '../kit/money.ts';

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
  /** Gets a webhook when a capture reaches 80 % or 100 % of a budget. */
  alertUrl: string | null;
}

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

/** What a key spent and holds in the present day and month. It counts only while the key has a budget. */
export interface KeyUse {
  daySpent: Nano;
  dayHeld: Nano;
  monthSpent: Nano;
  monthHeld: Nano;
}

/** The use of a new key. */
export const noUse: KeyUse = { daySpent: 0n, dayHeld: 0n, monthSpent: 0n, monthHeld: 0n };

/** One budget of a key and its use. */
export interface Budget {
  period: BudgetPeriod;
  limit: Nano;
  spent: Nano;
  held: Nano;
}

type BudgetedKey = Pick<KeyLimits, 'budgetDay' | 'budgetMonth'> & KeyUse;

/** Returns the budgets that a key has. */
export const budgetsOf = (key: BudgetedKey): Budget[] => {
  const { budgetDay, budgetMonth, daySpent, dayHeld, monthSpent, monthHeld } = key;
  const all = [
    { period: 'day' as const, limit: budgetDay, spent: daySpent, held: dayHeld },
    { period: 'month' as const, limit: budgetMonth, spent: monthSpent, held: monthHeld },
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

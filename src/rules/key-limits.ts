import type { Nano } from '../kit/money.ts';

export type BudgetPeriod = 'day' | 'month' | 'total';

export const periodEnd = (period: BudgetPeriod, time: number): number | null => {
  if (period === 'total') return null;
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return period === 'day' ? Date.UTC(year, month, date.getUTCDate() + 1) : Date.UTC(year, month + 1);
};

/** Names the day and the month of a time: `2026-11-23`, `2026-11`. The period of all time is `total`. */
export const periodNames = (time: number): [day: string, month: string] => {
  const iso = new Date(time).toISOString();
  return [iso.slice(0, 10), iso.slice(0, 7)];
};

/** Returns when the UTC month of a time began. */
export const monthStart = (time: number): number => Date.parse(`${periodNames(time)[1]}-01T00:00:00Z`);

export interface KeyLimits {
  /** From then on the key is refused; null: never. */
  expiresAt: number | null;
  /** The SKUs that it can buy, of those that its account can buy; null: all. */
  models: string[] | null;
  /** The mounted servers (`files`) and tools (`files__read_text_file`) whose tools it can call; null: all. */
  tools: string[] | null;
  /** The most that it may spend and hold in a UTC day; null: no limit. */
  budgetDay: Nano | null;
  budgetMonth: Nano | null;
  budgetTotal: Nano | null;
  /** Gets a webhook when a capture reaches 80 % or 100 % of a budget. */
  alertUrl: string | null;
  /** Its calls are counted under this tag, unless they name another. */
  usageTag: string | null;
}

export const noLimits: KeyLimits = {
  expiresAt: null,
  models: null,
  tools: null,
  budgetDay: null,
  budgetMonth: null,
  budgetTotal: null,
  alertUrl: null,
  usageTag: null,
};

/** Members that are left out, or undefined, stay as they are. */
export type LimitChanges = { [Field in keyof KeyLimits]?: KeyLimits[Field] | undefined };

export const changeLimits = (limits: KeyLimits, changes: LimitChanges): KeyLimits => {
  const {
    expiresAt = limits.expiresAt,
    models = limits.models,
    tools = limits.tools,
    budgetDay = limits.budgetDay,
    budgetMonth = limits.budgetMonth,
    budgetTotal = limits.budgetTotal,
    alertUrl = limits.alertUrl,
    usageTag = limits.usageTag,
  } = changes;
  return { expiresAt, models, tools, budgetDay, budgetMonth, budgetTotal, alertUrl, usageTag };
};

type Goods = Pick<KeyLimits, 'models' | 'tools'>;

/** Returns what a key can buy. One that names models or tools buys nothing else. */
export const goodsOf = ({ models, tools }: Goods): Goods =>
  models === null && tools === null ? { models, tools } : { models: models ?? [], tools: tools ?? [] };

export const signInMaker = 'wallet';

export const noUse = {
  daySpent: 0n,
  dayHeld: 0n,
  monthSpent: 0n,
  monthHeld: 0n,
  totalSpent: 0n,
  totalHeld: 0n,
};

/** What a key spent and holds in the present day and month, and in all. Its own calls count only while it has a budget. */
export type KeyUse = Record<keyof typeof noUse, Nano>;

export interface Budget {
  period: BudgetPeriod;
  limit: Nano;
  spent: Nano;
  held: Nano;
}

type BudgetedKey = Pick<KeyLimits, 'budgetDay' | 'budgetMonth' | 'budgetTotal'> & KeyUse;

export const budgetsOf = (key: BudgetedKey): Budget[] => {
  const all = [
    { period: 'day' as const, limit: key.budgetDay, spent: key.daySpent, held: key.dayHeld },
    { period: 'month' as const, limit: key.budgetMonth, spent: key.monthSpent, held: key.monthHeld },
    { period: 'total' as const, limit: key.budgetTotal, spent: key.totalSpent, held: key.totalHeld },
  ];
  return all.flatMap(({ limit, ...budget }) => (limit === null ? [] : [{ ...budget, limit }]));
};

type LeftBudget = { available: Nano; budget: Budget };

/** Returns the budget of the keys with the least left; null if they have none. */
export const tightestBudget = (keys: readonly BudgetedKey[]): LeftBudget | null => {
  const [tightest = null] = keys
    .flatMap(budgetsOf)
    .map((budget) => ({ available: budget.limit - budget.spent - budget.held, budget }))
    .sort((a, b) => (a.available < b.available ? -1 : 1));
  return tightest;
};

/** Returns the budget of the keys with the least left, if that does not cover the hold; else null. */
export const shortBudget = (keys: readonly BudgetedKey[], hold: Nano): LeftBudget | null => {
  const tightest = tightestBudget(keys);
  return tightest === null || tightest.available >= hold ? null : tightest;
};

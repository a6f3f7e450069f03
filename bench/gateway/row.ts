/** One line of the table of goals. */
export interface Row {
  work: string;
  limit: string;
  goal: string;
  measured: string;
  ratio: string;
  isMet: boolean;
}

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return (low + high) / 2;
};

/** Three figures, or whole numbers. */
export const figure = (value: number): string =>
  value >= 1000 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));

interface Goal {
  work: string;
  unit: string;
  limit?: number;
  measured: number;
}

const rowOf = ({ work, unit, limit, measured }: Goal, { goal, isMet }: Pick<Row, 'goal' | 'isMet'>): Row => ({
  work,
  limit: limit === undefined ? '–' : `${figure(limit)} ${unit}`,
  goal,
  measured: `${figure(measured)} ${unit}`,
  ratio: limit === undefined ? '–' : `${figure(measured / limit)}×`,
  isMet,
});

/** A goal in multiples of the limit. */
export const ratioRow = (goal: Goal & { limit: number; most: number }): Row =>
  rowOf(goal, { goal: `≤ ${goal.most}×`, isMet: goal.measured <= goal.most * goal.limit });

/** A goal in its own unit: `most`, or `least`. */
export const boundRow = (goal: Goal & ({ most: number } | { least: number })): Row =>
  'most' in goal
    ? rowOf(goal, { goal: `≤ ${figure(goal.most)} ${goal.unit}`, isMet: goal.measured <= goal.most })
    : rowOf(goal, { goal: `≥ ${figure(goal.least)} ${goal.unit}`, isMet: goal.measured >= goal.least });

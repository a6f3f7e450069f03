import type { Totals, Usage } from '../answers.ts';
import { toQuery } from '../api.ts';
import { dayBefore, money, nextDay, shortId, toWords } from '../format.ts';
import { Link, usePlace } from '../router.tsx';
import { useLoad } from '../use-console.ts';
import { Chart } from './chart.tsx';
import { Filters } from './filters.tsx';
import { Field, Shown } from './parts.tsx';
import { Table, type Column } from './table.tsx';

const presets = [7, 30, 90];
const longestDays = 366;

/** The days of a view, which the address has, perhaps with times; by default the last 30. */
export const useDays = () => {
  const { query } = usePlace();
  const dayOf = (name: string, usual: string): string => query.get(name)?.slice(0, 10) ?? usual;
  return { from: dayOf('from', dayBefore(29)), to: dayOf('to', dayBefore(0)) };
};

export const DayFilters = () => {
  const { from, to } = useDays();
  const { setQuery } = usePlace();
  return (
    <Filters key={from + to}>
      {presets.map((days) => {
        const first = dayBefore(days - 1);
        const isChosen = from === first && to === dayBefore(0);
        return (
          <button
            key={days}
            type="button"
            aria-pressed={isChosen}
            onClick={() => setQuery({ from: first, to: null, page: null })}
          >
            {days} days
          </button>
        );
      })}
      <Field name="from" label="From (UTC)" type="date" value={from} />
      <Field name="to" label="To (UTC)" type="date" value={to} />
    </Filters>
  );
};

/** Lists the days from one to another, at most the last 366. */
const listDays = (from: string, to: string): string[] => {
  const days: string[] = [];
  const first = new Date(Date.parse(to) - (longestDays - 1) * 86_400_000).toISOString().slice(0, from.length);
  // After what is no day comes the same again.
  for (let day = from > first ? from : first; day <= to && day !== days.at(-1); day = nextDay(day))
    days.push(day);
  return days;
};

const sumColumns: Column<Totals>[] = [
  { title: 'Calls', cell: ({ jobs }) => jobs.total, isNumber: true },
  { title: 'Failed', cell: ({ jobs }) => jobs.failed, isNumber: true },
  { title: 'Refunded', cell: ({ refunded_usd: refunded }) => money(refunded), isNumber: true, isWide: true },
  { title: 'Spent', cell: ({ net_spent_usd: spent }) => money(spent), isNumber: true },
];

/** Returns the address of the jobs behind a figure, below /console. */
type LinesOf = (filter: Readonly<Record<string, string>>) => string;

interface Sum extends Totals {
  name: string;
  /** What finds the jobs behind it; null: nothing does, as it is what is left over. */
  filter: Readonly<Record<string, string>> | null;
}

const Sums = ({ by, rows, linesOf }: { by: string; rows: readonly Sum[]; linesOf: LinesOf }) => (
  <section>
    <h2>By {by}</h2>
    <Table<Sum>
      name={`By ${by}`}
      rows={rows}
      columns={[
        {
          title: by === 'day' ? 'Day (UTC)' : toWords(by),
          cell: ({ name, filter }) => (filter === null ? name : <Link path={linesOf(filter)}>{name}</Link>),
        },
        ...sumColumns,
      ]}
      keyOf={({ name, filter }) => JSON.stringify(filter ?? name)}
      none="No calls in this time."
    />
  </section>
);

/** The sums by each part of a job, in the order in which they are shown. */
const toSums = (usage: Usage): Record<string, readonly Sum[]> => ({
  model: usage.by_model.map(({ model, ...sum }) => ({ ...sum, name: model, filter: { model } })),
  kind: usage.by_kind.map(({ kind, ...sum }) => ({ ...sum, name: kind, filter: { kind } })),
  key: usage.by_key.map(({ key_id: id, label, ...sum }) => ({
    ...sum,
    name: label || shortId(id ?? ''),
    filter: id === null ? null : { key_id: id },
  })),
  tag: usage.by_tag.map(({ tag, ...sum }) => ({
    ...sum,
    name: tag ?? 'without a tag',
    filter: tag === null ? null : { tag },
  })),
  day: usage.by_day
    .map(({ day, ...sum }) => ({ ...sum, name: day, filter: { from: day, to: day } }))
    .toReversed(),
});

const Tile = ({ name, value, path }: { name: string; value: string | number; path?: string }) => (
  <li>
    <span>{name}</span> <strong>{path === undefined ? value : <Link path={path}>{value}</Link>}</strong>
  </li>
);

const Tiles = ({ usage: { jobs, net_spent_usd: spent }, linesOf }: { usage: Usage; linesOf: LinesOf }) => (
  <ul class="tiles">
    <Tile name="Spent" value={money(spent)} />
    <Tile name="Calls" value={jobs.total} path={linesOf({})} />
    <Tile name="Failed" value={jobs.failed} path={linesOf({ status: 'failed' })} />
    <Tile name="Open" value={jobs.queued + jobs.running} />
  </ul>
);

/** Calls and spend of the chosen days. `path`: the address of the sums; `jobsPath`: that of the jobs, with the days. */
export const UsageView = ({ path, jobsPath }: { path: string; jobsPath: LinesOf }) => {
  const { from, to } = useDays();
  const linesOf: LinesOf = (filter) => jobsPath({ from, to, ...filter });
  const loaded = useLoad<Usage>(path + toQuery({ from, to: nextDay(to) }), { everyMs: 30_000 });
  return (
    <Shown loaded={loaded}>
      {(usage) => {
        const days = listDays(from, to);
        const spent = new Map(usage.by_day.map((one) => [one.day, Number(one.net_spent_usd)]));
        return (
          <>
            <Tiles usage={usage} linesOf={linesOf} />
            <section>
              <h2>Spent by day</h2>
              <Chart
                bars={days.map((day) => ({ day, value: spent.get(day) ?? 0 }))}
                label={`Spent by day from ${days[0] ?? from} to ${to}; since ${from} ${money(usage.net_spent_usd)} in all`}
                toText={(value) => `$${Number(value.toPrecision(6))}`}
              />
            </section>
            {Object.entries(toSums(usage))
              // Without tags there are no sums of them.
              .filter(([by, rows]) => by !== 'tag' || rows.length > 0)
              .map(([by, rows]) => (
                <Sums key={by} by={by} rows={rows} linesOf={linesOf} />
              ))}
          </>
        );
      }}
    </Shown>
  );
};

import type { BenchPlace, OpenEngine } from '../engines/engine.ts';
import { openBenchEngine } from '../engines/open-bench-engine.ts';
import { AppError } from '../../../src/kit/errors.ts';
import { createProfiles } from '../generate-profiles.ts';
import { measureIdleDelay, withLoopDelay } from '../measure/loop-delay.ts';
import { describeMachine } from '../measure/machine.ts';
import { measureClasses, type ClassQueries } from '../measure/measure-classes.ts';
import { measureThroughput } from '../measure/measure-throughput.ts';
import { rounded } from '../measure/statistics.ts';
import { makeQueries, queryClasses } from '../queries/query-classes.ts';
import type { SearchFigures, SearchPlan, Step } from './step.ts';

export const runSearch = async ({
  engine: name,
  access,
  place,
  plan,
}: Extract<Step, { kind: 'search' }>): Promise<SearchFigures> => {
  const machine = describeMachine();
  const classes = classQueries(place, plan);
  const open = (await openBenchEngine(name)).open[access];
  if (open === undefined) throw new Error(`"${name}" has no ${access} access.`);

  const before = residentMiB();
  const startedMs = performance.now();
  const engine = await open(place);
  const openMs = rounded(performance.now() - startedMs);
  const opened = residentMiB();
  const measured = access === 'gateway' ? measureInBackground : measureInThread;
  const figures = await measured(engine, { classes, plan });
  const end = residentMiB();
  await engine.close();
  const peak = Math.round(process.resourceUsage().maxRSS / 1024);
  return { access, openMs, ...figures, memoryMiB: { before, opened, end, peak }, machine };
};

const classQueries = (place: BenchPlace, { classes, queriesPerClass }: SearchPlan): ClassQueries[] => {
  const profiles = createProfiles(place.seed);
  return queryClasses
    .filter(({ name }) => classes.includes(name))
    .map((queryClass) => ({
      name: queryClass.name,
      queries: makeQueries({
        queryClass,
        profiles,
        profileCount: place.profileCount,
        count: queriesPerClass,
      }),
    }));
};

type Measured = Pick<SearchFigures, 'classes' | 'loop' | 'throughput' | 'counts'>;
interface MeasureInput {
  classes: ClassQueries[];
  plan: SearchPlan;
}

/** Searches answered elsewhere: what they do to the main thread is measured, too. */
const measureInBackground = async (
  engine: OpenEngine,
  { classes, plan }: MeasureInput,
): Promise<Measured> => {
  const idle = await measureIdleDelay();
  const one = await withLoopDelay(() => measureClasses({ ...plan, ...engine, classes }));
  const counts = await measureCounts(engine, { classes, plan });
  const figures = { classes: one.result, counts, loop: { idle, oneCaller: one.delay, manyCallers: null } };
  if (plan.throughputMs === 0) return { ...figures, throughput: null };
  const many = await withLoopDelay(() =>
    measureThroughput({
      call: (query) => engine.search(query).then(() => true, toRefusal),
      inputs: taken(classes),
      callers: plan.callers,
      durationMs: plan.throughputMs,
    }),
  );
  return { ...figures, loop: { ...figures.loop, manyCallers: many.delay }, throughput: many.result };
};

const measureInThread = async (engine: OpenEngine, { classes, plan }: MeasureInput): Promise<Measured> => ({
  classes: await measureClasses({ ...plan, ...engine, classes }),
  loop: null,
  throughput: null,
  counts: [],
});

/** A count ends at 100 matches. */
const countedMatches = 101;
const countsPerClass = 20;
const maxCounts = 5;

/** Counts the matches of different queries of each class. Returns the classes that cost most. */
const measureCounts = async (
  engine: OpenEngine,
  { classes, plan }: MeasureInput,
): Promise<SearchFigures['counts']> => {
  const counted = classes.map(({ name, queries }) => ({
    name,
    queries: queries.slice(0, countsPerClass).map((query) => ({ ...query, limit: countedMatches })),
  }));
  const figures = await measureClasses({ ...plan, ...engine, classes: counted, warmPasses: 0 });
  return figures.sort((a, b) => b.cpu.mean - a.cpu.mean).slice(0, maxCounts);
};

/** Too many searches waited for a connection or a thread. */
const toRefusal = (error: unknown): boolean => {
  if (error instanceof AppError && error.code === 'upstream_error') return false;
  throw error;
};

/** All queries, the classes in turn. */
const taken = (classes: ClassQueries[]): ClassQueries['queries'] => {
  const longest = Math.max(0, ...classes.map(({ queries }) => queries.length));
  return Array.from({ length: longest }, (_, turn) =>
    classes.flatMap(({ queries }) => queries.slice(turn, turn + 1)),
  ).flat();
};

const residentMiB = (): number => Math.round(process.memoryUsage.rss() / 2 ** 20);

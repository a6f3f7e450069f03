import type { Lead, LeadQuery } from '../../../src/leads/lead-source.ts';
import { backendMs } from './backends.ts';
import { spreadOf, type Spread } from './statistics.ts';

export interface ClassQueries {
  name: string;
  queries: readonly LeadQuery[];
}

export interface ClassFigures {
  name: string;
  /** Each query once, in a process that had answered none of them. */
  cold: Spread;
  /** The same queries, again and again; the cold times where the time allowed was over before. */
  warm: Spread;
  /**
   * Processor time of this process, all threads together, and of the backends of a database for one warm search: what a
   * busy machine changes little.
   */
  cpu: Spread;
  /** Results of one search, on average. */
  results: number;
}

export interface MeasureClassesInput {
  search: (query: LeadQuery) => Promise<Lead[]>;
  backends?: readonly number[];
  classes: readonly ClassQueries[];
  warmPasses: number;
  /** A class that has taken so long in all, cold or warm, is measured no further. */
  classBudgetMs: number;
}

/**
 * Times searches one at a time. The classes take turns, query by query, so that a noisy minute of the machine falls
 * on all of them alike and every class runs with caches that the others filled.
 */
export const measureClasses = async (input: MeasureClassesInput): Promise<ClassFigures[]> => {
  const cold = input.classes.map(startTally);
  await runPass(input, cold);
  const warm = input.classes.map(startTally);
  for (let pass = 0; pass < input.warmPasses; pass += 1) await runPass(input, warm);
  return input.classes.map(({ name }, place) => toFigures(name, cold[place], warm[place]));
};

interface Tally {
  timesMs: number[];
  totalMs: number;
  cpuMs: number[];
  results: number;
}

const startTally = (): Tally => ({ timesMs: [], totalMs: 0, cpuMs: [], results: 0 });

const runPass = async (
  { search, backends = [], classes, classBudgetMs }: MeasureClassesInput,
  tallies: Tally[],
): Promise<void> => {
  const longest = Math.max(0, ...classes.map(({ queries }) => queries.length));
  for (let turn = 0; turn < longest; turn += 1) {
    for (const [place, { queries }] of classes.entries()) {
      const query = queries[turn];
      const tally = tallies[place];
      if (query === undefined || tally === undefined || tally.totalMs > classBudgetMs) continue;
      await timeSearch(() => search(query), { tally, backends });
    }
  }
};

const timeSearch = async (
  search: () => Promise<Lead[]>,
  { tally, backends }: { tally: Tally; backends: readonly number[] },
): Promise<void> => {
  const serverMs = (): number => backends.reduce((sum, pid) => sum + backendMs(pid), 0);
  const beforeMs = serverMs();
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  const found = await search();
  const tookMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(cpu);
  tally.timesMs.push(tookMs);
  tally.totalMs += tookMs;
  tally.cpuMs.push((user + system) / 1000 + serverMs() - beforeMs);
  tally.results += found.length;
};

const toFigures = (name: string, cold = startTally(), warm = startTally()): ClassFigures => {
  const measured = warm.timesMs.length > 0 ? warm : cold;
  const spreads = {
    cold: spreadOf(cold.timesMs),
    warm: spreadOf(measured.timesMs),
    cpu: spreadOf(measured.cpuMs),
  };
  if (spreads.cold === null || spreads.warm === null || spreads.cpu === null)
    throw new Error(`The class "${name}" has no query.`);
  const results = Math.round((measured.results / spreads.warm.count) * 10) / 10;
  return { name, cold: spreads.cold, warm: spreads.warm, cpu: spreads.cpu, results };
};

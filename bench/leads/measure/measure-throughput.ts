import type { Lead, LeadQuery } from '../../../src/leads/lead-source.ts';
import { spreadOf, type Spread } from './statistics.ts';

export interface Throughput {
  callers: number;
  searchesPerSecond: number;
  /** Of single searches, their waiting behind others included. */
  times: Spread | null;
}

export interface MeasureThroughputInput {
  search: (query: LeadQuery) => Promise<Lead[]>;
  /** Asked in turn, from the first again when they are over. */
  queries: readonly LeadQuery[];
  /** How many ask at the same time, each the next query as soon as its last one is answered. */
  callers: number;
  durationMs: number;
}

export const measureThroughput = async ({
  search,
  queries,
  callers,
  durationMs,
}: MeasureThroughputInput): Promise<Throughput> => {
  const timesMs: number[] = [];
  const startedMs = performance.now();
  let next = 0;
  const ask = async (): Promise<void> => {
    while (performance.now() - startedMs < durationMs) {
      const query = queries[next % queries.length];
      if (query === undefined) return;
      next += 1;
      const askedMs = performance.now();
      await search(query);
      timesMs.push(performance.now() - askedMs);
    }
  };
  await Promise.all(Array.from({ length: callers }, ask));
  const seconds = (performance.now() - startedMs) / 1000;
  return { callers, searchesPerSecond: Math.round(timesMs.length / seconds), times: spreadOf(timesMs) };
};

import { spreadOf } from '../measure/statistics.ts';
import type { SearchFigures } from '../steps/step.ts';

export interface Goals {
  p50Ms: number;
  p99Ms: number;
  /** Of the p50 of all classes, the one in the middle. */
  medianMs: number;
  /** Of a core, what free searches of one address take at their limit, all of them different. */
  freeShare: number;
  /** The longest the main thread may be held. */
  loopMs: number;
}

/** What searches should take at up to a million profiles on a quiet core, in every class. */
export const goals: Goals = { p50Ms: 50, p99Ms: 100, medianMs: 5, freeShare: 0.08, loopMs: 10 };
export const goalProfiles = 1_000_000;

/** SEARCH_RATE_PER_MINUTE without a setting. */
export const freeRate = 60;

/** Returns the part of a core that an address takes whose free searches need so much processor time each. */
export const shareOfCore = (cpuMs: number): number => (cpuMs * freeRate) / 60_000;

/**
 * What is not below its goal, one phrase each: by the clock, or by the answering process's own processor time, which is
 * what the clock would tell if nothing else ran on the machine.
 */
export const missesOf = (
  { classes, loop, counts }: Pick<SearchFigures, 'classes' | 'loop' | 'counts'>,
  { goals: { p50Ms, p99Ms, medianMs, freeShare, loopMs }, by }: { goals: Goals; by: 'clock' | 'processor' },
): string[] => {
  const held = [loop?.oneCaller, loop?.manyCallers].map((delay) =>
    by === 'clock' ? (delay?.max ?? 0) : (delay?.longestWork ?? 0),
  );
  const longest = Math.max(...held);
  const spreads = classes.map(({ warm, cpu }) => (by === 'clock' ? warm : cpu));
  const median = spreadOf(spreads.map(({ p50 }) => p50))?.p50 ?? 0;
  const shares = counts.map(({ cpu }) => shareOfCore(cpu.mean));
  return [
    ...classes.flatMap(({ name, warm, cpu }) => {
      const { p50, p99 } = by === 'clock' ? warm : cpu;
      return [
        ...(p50 >= p50Ms ? [`p50 of "${name}" ${p50}`] : []),
        ...(p99 >= p99Ms ? [`p99 of "${name}" ${p99}`] : []),
      ];
    }),
    ...(median > medianMs ? [`the median class ${median}`] : []),
    ...(by === 'processor' && Math.max(0, ...shares) > freeShare
      ? [`free searches take ${(Math.max(...shares) * 100).toFixed(1)} % of a core`]
      : []),
    ...(longest >= loopMs ? [`the main thread held for ${longest}`] : []),
  ];
};

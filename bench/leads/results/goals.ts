import type { SearchFigures } from '../steps/step.ts';

export interface Goals {
  p50Ms: number;
  p99Ms: number;
  /** The longest the main thread may be held. */
  loopMs: number;
}

/** What searches should take at up to a million profiles on a quiet core, in every class. */
export const goals: Goals = { p50Ms: 50, p99Ms: 100, loopMs: 10 };
export const goalProfiles = 1_000_000;

/**
 * What is not below its goal, one phrase each: by the clock, or by the answering process's own processor time, which is
 * what the clock would tell if nothing else ran on the machine.
 */
export const missesOf = (
  { classes, loop }: Pick<SearchFigures, 'classes' | 'loop'>,
  { goals: { p50Ms, p99Ms, loopMs }, by }: { goals: Goals; by: 'clock' | 'processor' },
): string[] => {
  const held = [loop?.oneCaller, loop?.manyCallers].map((delay) =>
    by === 'clock' ? (delay?.max ?? 0) : (delay?.longestWork ?? 0),
  );
  const longest = Math.max(...held);
  return [
    ...classes.flatMap(({ name, warm, cpu }) => {
      const { p50, p99 } = by === 'clock' ? warm : cpu;
      return [
        ...(p50 >= p50Ms ? [`p50 of "${name}" ${p50}`] : []),
        ...(p99 >= p99Ms ? [`p99 of "${name}" ${p99}`] : []),
      ];
    }),
    ...(longest >= loopMs ? [`the main thread held for ${longest}`] : []),
  ];
};

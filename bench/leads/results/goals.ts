import type { EngineName } from '../engines/engine.ts';
import type { SearchFigures } from '../steps/step.ts';

/** What searches should take at five million profiles on a quiet core, in every class. */
export interface Goals {
  p50Ms: number;
  p99Ms: number;
  /** The longest the main thread may be held. */
  loopMs: number;
}

/** The goals of an engine; null for one that is only compared with. */
export const goalsOf = (engine: EngineName): Goals | null => {
  switch (engine) {
    case 'embedded':
      return { p50Ms: 2, p99Ms: 20, loopMs: 10 };
    case 'fts5':
      return null;
  }
};

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

import { spreadOf, type Spread } from './statistics.ts';

export interface Throughput {
  callers: number;
  perSecond: number;
  /** Of single calls, their waiting behind others included. */
  times: Spread | null;
  /** Calls that were refused because too many others were waiting. */
  refused: number;
}

export interface MeasureThroughputInput<Input> {
  /** Resolves with false if it was refused. */
  call: (input: Input) => Promise<boolean>;
  /** Used in turn, from the first again when they are over. */
  inputs: readonly Input[];
  /** How many call at the same time, each again as soon as its last call is answered. */
  callers: number;
  durationMs: number;
}

export const measureThroughput = async <Input>({
  call,
  inputs,
  callers,
  durationMs,
}: MeasureThroughputInput<Input>): Promise<Throughput> => {
  const timesMs: number[] = [];
  const startedMs = performance.now();
  let next = 0;
  let refused = 0;
  const callOn = async (): Promise<void> => {
    while (performance.now() - startedMs < durationMs) {
      const input = inputs[next % inputs.length];
      if (input === undefined) return;
      next += 1;
      const calledMs = performance.now();
      if (await call(input)) timesMs.push(performance.now() - calledMs);
      else refused += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, callOn));
  const seconds = (performance.now() - startedMs) / 1000;
  return { callers, perSecond: Math.round(timesMs.length / seconds), times: spreadOf(timesMs), refused };
};

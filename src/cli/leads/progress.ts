import type { Clock } from '../../kit/clock.ts';
import type { InputProgress } from '../../leads/import/input-options.ts';
import type { ImportPhase, ImportProgress } from '../../leads/lead-index.ts';
import type { ProgressOutput } from '../command.ts';
import { countOf, formatCount, formatDuration } from './figures.ts';

/** The time between two lines: on a terminal, where the second overwrites the first, and elsewhere. */
const terminalEveryMs = 200;
const lineEveryMs = 10_000;
/** A rate over a shorter time is not shown. */
const minRateMs = 2_000;
/** A longer line could wrap on a terminal, and could not be overwritten. */
const maxLineLength = 79;

interface Start {
  phase: ImportPhase;
  at: number;
  done: number;
  bytes: number;
}

const counted: Record<ImportPhase, (done: number) => string> = {
  reading: (done) => `Reading: ${countOf(done, 'row')}`,
  indexing: (done) => `Indexing: ${countOf(done, 'profile')}`,
};

/** Formats what is done, its rate, the finished share, and the time for the rest at the speed until now. */
const describe = (
  { phase, done, total }: ImportProgress,
  input: InputProgress,
  start: Start,
  elapsedMs: number,
): string => {
  const isTimed = elapsedMs >= minRateMs;
  const parts = [counted[phase](done)];
  if (done > start.done && isTimed) parts.push(`${formatCount(((done - start.done) / elapsedMs) * 1_000)}/s`);
  const share =
    phase === 'reading'
      ? { done: input.bytes, begun: start.bytes, total: input.totalBytes }
      : { done, begun: start.done, total };
  if (share.total !== null && share.total !== 0) {
    const gone = share.done - share.begun;
    parts.push(`${Math.min(99, Math.floor((share.done / share.total) * 100))} %`);
    if (gone > 0 && isTimed)
      parts.push(`${formatDuration(((share.total - share.done) / gone) * elapsedMs)} left`);
  }
  return parts.join(', ');
};

interface ProgressOptions {
  output: ProgressOutput;
  clock: Clock;
  inputProgress: () => InputProgress;
}

/** Shows the progress of an import: on a terminal one line that changes, elsewhere a line every ten seconds. */
export const createProgressLine = ({ output, clock, inputProgress }: ProgressOptions) => {
  const { isTerminal } = output;
  let start: Start | null = null;
  let shownAt = clock.now();
  let isShown = false;

  /** Removes the line from the terminal, before something else is written. */
  const clear = (): void => {
    if (isShown) output.write('\r\u001b[K');
    isShown = false;
  };
  return {
    clear,
    show: (progress: ImportProgress): void => {
      const now = clock.now();
      if (start?.phase !== progress.phase)
        start = { phase: progress.phase, at: now, done: progress.done, bytes: inputProgress().bytes };
      if (now - shownAt < (isTerminal ? terminalEveryMs : lineEveryMs)) return;
      shownAt = now;
      const line = describe(progress, inputProgress(), start, now - start.at);
      output.write(isTerminal ? `\r${line.slice(0, maxLineLength)}\u001b[K` : `${line}\n`);
      isShown = isTerminal;
    },
  };
};

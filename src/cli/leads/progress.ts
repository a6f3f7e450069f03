import type { Clock } from '../../kit/clock.ts';
import type { InputProgress } from '../../leads/import/input-options.ts';
import type { ImportProgress } from '../../leads/lead-keeper.ts';
import { countOf, formatCount, formatDuration } from './figures.ts';
import type { ProgressOutput } from './session.ts';

/** How often a line is shown: one that is written over, and one that stays. */
const terminalEveryMs = 200;
const lineEveryMs = 10_000;
/** Before that, a rate says nothing. */
const settledMs = 2_000;
/** What every terminal shows on one line; a longer one could not be written over. */
const longestLine = 79;

interface Start {
  phase: ImportProgress['phase'];
  at: number;
  done: number;
  bytes: number;
}

export interface ProgressLine {
  show(progress: ImportProgress): void;
  /** Takes the line away, before something else is written. */
  clear(): void;
}

const percent = (part: number, whole: number): number => Math.min(99, Math.floor((part / whole) * 100));

/** The share that is done, and how long the rest takes at the speed until now. */
const shareOf = (
  { done, begun, total }: { done: number; begun: number; total: number },
  elapsedMs: number,
): string[] => {
  if (total === 0) return [];
  const gone = done - begun;
  const left = gone > 0 && elapsedMs >= settledMs ? ((total - done) / gone) * elapsedMs : null;
  return [`${percent(done, total)} %`, ...(left === null ? [] : [`${formatDuration(left)} left`])];
};

const describe = (
  progress: ImportProgress,
  input: InputProgress,
  start: Start,
  elapsedMs: number,
): string => {
  const gone = progress.done - start.done;
  const rate = gone > 0 && elapsedMs >= settledMs ? [`${formatCount((gone / elapsedMs) * 1_000)}/s`] : [];
  if (progress.phase === 'indexing') {
    const { done, total } = progress;
    const share = total === null ? [] : shareOf({ done, begun: start.done, total }, elapsedMs);
    return ['Indexing: ' + countOf(done, 'profile'), ...rate, ...share].join(', ');
  }
  const { bytes, totalBytes } = input;
  const share =
    totalBytes === null ? [] : shareOf({ done: bytes, begun: start.bytes, total: totalBytes }, elapsedMs);
  return ['Reading: ' + countOf(progress.done, 'row'), ...rate, ...share].join(', ');
};

/** An input that is gone on with is opened at its position only after the first word of it. */
const isBeforeInput = ({ phase, bytes }: Start, { isResumed }: ImportProgress): boolean =>
  isResumed && phase === 'reading' && bytes === 0;

/** Shows how far an import is: on a terminal one line that changes, else a line now and then. */
export const createProgressLine = ({
  output,
  clock,
  inputProgress,
}: {
  output: ProgressOutput;
  clock: Clock;
  inputProgress: () => InputProgress;
}): ProgressLine => {
  const { isTerminal } = output;
  let start: Start | null = null;
  let shownAt = clock.now();
  let isShown = false;

  const clear = (): void => {
    if (isShown) output.write('\r\u001b[K');
    isShown = false;
  };
  const begin = (progress: ImportProgress, now: number): Start => {
    if (start === null && progress.isResumed) {
      const where = progress.phase === 'reading' ? `, behind row ${formatCount(progress.done)}` : '';
      output.write(`Going on with an import that did not end${where}.\n`);
    }
    return { phase: progress.phase, at: now, done: progress.done, bytes: inputProgress().bytes };
  };

  return {
    clear,
    show: (progress) => {
      const now = clock.now();
      if (start?.phase !== progress.phase || isBeforeInput(start, progress)) start = begin(progress, now);
      if (now - shownAt < (isTerminal ? terminalEveryMs : lineEveryMs)) return;
      shownAt = now;
      const line = describe(progress, inputProgress(), start, now - start.at);
      output.write(isTerminal ? `\r${line.slice(0, longestLine)}\u001b[K` : `${line}\n`);
      isShown = isTerminal;
    },
  };
};

import type { LoopDelay } from '../measure/loop-delay.ts';
import type { Spread } from '../measure/statistics.ts';

/** p50 / p99 / longest. */
export const spread = ({ p50, p99, max }: Pick<Spread, 'p50' | 'p99' | 'max'>): string =>
  [p50, p99, max].map(milliseconds).join(' / ');

const milliseconds = (time: number): string =>
  time >= 100 ? amount(Math.round(time)) : time >= 10 ? time.toFixed(1) : time.toFixed(2);

export const amount = (number: number): string => number.toLocaleString('en-US');

/** p99 / longest, and the longest stretch of work. */
export const late = (delay: LoopDelay | null | undefined): string =>
  delay === null || delay === undefined
    ? '–'
    : `${milliseconds(delay.p99)} / ${milliseconds(delay.max)} (${milliseconds(delay.longestWork)})`;

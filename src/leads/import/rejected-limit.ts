import { AppError } from '../../kit/errors.ts';

/** How many rows may be rejected, or how many of each hundred. */
export type RejectedLimit = { rows: number } | { percent: number };

export const defaultRejectedLimit: RejectedLimit = { percent: 1 };

/** A percentage is checked after this many rows, and at the end. */
export const percentFromRows = 10_000;

const formatCount = (count: number): string => count.toLocaleString('en-US');

/**
 * Throws AppError `too_many_rejected` if more rows are rejected than `limit` allows, and at the end `nothing_imported` if
 * no row is valid.
 */
export const checkRejected = (
  { rows, rejected }: { rows: number; rejected: number },
  { limit, isEnd }: { limit: RejectedLimit; isEnd: boolean },
): void => {
  if (isEnd && rows === rejected) {
    const why = { 0: 'The input has no rows', 1: 'The one row was rejected' }[rows];
    throw new AppError(
      'nothing_imported',
      `${why ?? `All ${formatCount(rows)} rows were rejected`}. Nothing was changed.`,
    );
  }
  const isOver =
    'rows' in limit
      ? rejected > limit.rows
      : (isEnd || rows >= percentFromRows) && rejected * 100 > limit.percent * rows;
  if (!isOver) return;
  const allowed = 'rows' in limit ? formatCount(limit.rows) : `${limit.percent}%`;
  const wanted = `${Math.ceil((rejected * 100) / rows)}%`;
  throw new AppError(
    'too_many_rejected',
    `${formatCount(rejected)} of ${formatCount(rows)} rows were rejected${isEnd ? '' : ' so far'}; the limit is ${allowed}. ` +
      `Nothing was imported. Correct the rows, or raise the limit to leave them out: max-rejected ${wanted}.`,
  );
};

import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import type { Json } from '../../kit/json.ts';
import type { LeadInput } from '../lead-keeper.ts';
import type { FileLeadInput, InputProgress } from './input-options.ts';

/** The number of rows that may be rejected, or their share of all rows, from 0 to 1. */
export type RejectedLimit = { rows: number } | { share: number };

/** A share is checked after this many rows, and at the end. */
export const shareFromRows = 10_000;

/** Increased when positions change, so that an import resumes only from positions that it understands. */
const positionFormat = 'report-2';
const watchedPosition = z.object({ input: z.json(), report: z.json() });

/** Keeps the rejected rows. Its mark is plain JSON; null: there is nothing to resume. */
export interface MarkedReport {
  begin(mark: Json): void;
  mark(): Json;
}

const formatCount = (count: number): string => count.toLocaleString('en-US');

const isOver = (limit: RejectedLimit, { rows, rejected }: InputProgress, isEnd: boolean): boolean => {
  if ('rows' in limit) return rejected > limit.rows;
  return (isEnd || rows >= shareFromRows) && rejected > limit.share * rows;
};

const nothingImported = (rows: number): AppError => {
  const why = { 0: 'The input has no rows', 1: 'The one row was rejected' }[rows];
  return new AppError(
    'nothing_imported',
    `${why ?? `All ${formatCount(rows)} rows were rejected`}. Nothing was changed.`,
  );
};

interface WatchedInputOptions {
  input: FileLeadInput;
  /** Null: rejected rows are only counted. */
  report: MarkedReport | null;
  limit: RejectedLimit | null;
}

/**
 * Wraps an input: keeps the mark of the report of rejected rows in its positions, and refuses the import, before anything
 * is imported, if too many rows are rejected, or all: AppError `too_many_rejected`, `nothing_imported`.
 */
export const createWatchedInput = ({ input, report, limit }: WatchedInputOptions): LeadInput => {
  let isRefused = false;
  const refuse = (error: AppError): never => {
    isRefused = true;
    throw error;
  };
  const check = (isEnd: boolean): void => {
    const progress = input.progress();
    if (limit === null || !isOver(limit, progress, isEnd)) return;
    const { rows, rejected } = progress;
    refuse(
      new AppError(
        'too_many_rejected',
        `${formatCount(rejected)} of ${formatCount(rows)} rows were rejected${isEnd ? '' : ' so far'}, more than the limit allows. Nothing was imported.`,
      ),
    );
  };
  const checkEnd = (): void => {
    // A report that cannot be written fails the import before anything is imported.
    report?.mark();
    check(true);
    const { rows, rejected } = input.progress();
    if (rows === rejected) refuse(nothingImported(rows));
  };

  return {
    isRefused: () => isRefused,
    resumeEnd: (position) => {
      const at = watchedPosition.parse(position);
      report?.begin(at.report);
      input.resumeEnd(at.input);
      checkEnd();
    },
    key: input.key === null ? null : `${positionFormat} ${input.key}`,
    async *read({ after, signal }) {
      const from = after === null ? null : watchedPosition.parse(after);
      report?.begin(from?.report ?? null);
      for await (const { leads, position } of input.read({ after: from?.input ?? null, signal })) {
        check(false);
        yield { leads, position: { input: position, report: report?.mark() ?? null } };
      }
      checkEnd();
    },
  };
};

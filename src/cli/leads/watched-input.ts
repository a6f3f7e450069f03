import { z } from 'zod';
import type { FileLeadInput, InputProgress } from '../../leads/import/input-options.ts';
import type { LeadInput } from '../../leads/lead-keeper.ts';
import { CommandError } from '../command-error.ts';
import { formatCount } from './figures.ts';
import type { RejectedReport } from './rejected-report.ts';
import { reportMark } from './report-file.ts';

/** How many rows may be rejected: so many, or such a share of all, from 0 to 1. */
export type RejectedLimit = { rows: number } | { share: number };

/** So many rows are read before a share of them counts. */
export const shareFromRows = 10_000;

/** Bumped when positions change, so that an import goes on only with those it understands. */
const positionFormat = 'report-2';
const watchedPosition = z.object({ input: z.json(), report: reportMark.nullable() });

const isOver = (limit: RejectedLimit, { rows, rejected }: InputProgress, isEnd: boolean): boolean => {
  if ('rows' in limit) return rejected > limit.rows;
  return (isEnd || rows >= shareFromRows) && rejected > limit.share * rows;
};

const nothingImported = (rows: number): CommandError => {
  const why = { 0: 'The input has no rows', 1: 'The one row was rejected' }[rows];
  return new CommandError(
    'nothing_imported',
    `${why ?? `All ${formatCount(rows)} rows were rejected`}. Nothing was changed.`,
  );
};

/**
 * An input that carries the report of rejected rows along in its positions, and refuses the import, before anything is
 * taken over, when too many rows are rejected, or all: CommandError `too_many_rejected`, `nothing_imported`.
 */
export const createWatchedInput = ({
  input,
  report,
  limit,
}: {
  input: FileLeadInput;
  report: RejectedReport;
  limit: RejectedLimit | null;
}): LeadInput => {
  let isRefused = false;
  const refuse = (error: CommandError): never => {
    isRefused = true;
    throw error;
  };
  const check = (isEnd: boolean): void => {
    const progress = input.progress();
    if (limit === null || !isOver(limit, progress, isEnd)) return;
    const { rows, rejected } = progress;
    refuse(
      new CommandError(
        'too_many_rejected',
        `${formatCount(rejected)} of ${formatCount(rows)} rows were rejected${isEnd ? '' : ' so far'}, more than --max-rejected allows. Nothing was taken over.`,
      ),
    );
  };
  const checkEnd = (): void => {
    // What cannot be written is told before anything is taken over.
    report.mark();
    check(true);
    const { rows, rejected } = input.progress();
    if (rows === rejected) refuse(nothingImported(rows));
  };

  return {
    isRefused: () => isRefused,
    resumeEnd: (position) => {
      const at = watchedPosition.parse(position);
      report.begin(at.report);
      input.resumeEnd(at.input);
      checkEnd();
    },
    key: input.key === null ? null : `${positionFormat} ${input.key}`,
    async *read({ after, signal }) {
      const from = after === null ? null : watchedPosition.parse(after);
      report.begin(from?.report ?? null);
      for await (const { leads, position } of input.read({ after: from?.input ?? null, signal })) {
        check(false);
        yield { leads, position: { input: position, report: report.mark() } };
      }
      checkEnd();
    },
  };
};

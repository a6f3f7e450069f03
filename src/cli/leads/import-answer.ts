import type { RejectedRow } from '../../leads/import/input-options.ts';
import type { ImportOutcome } from '../../leads/lead-keeper.ts';
import type { Answer } from '../command-context.ts';
import { countOf, figureLines, formatCount, formatDuration } from './figures.ts';
import { describePlace, type LeadPlace } from './place.ts';
import { printable } from '../printable.ts';

/** Rows that were left out: all of them, and the first ones. */
export interface Rejections {
  count: number;
  /** Of those that this command has read, which may have gone on behind others. */
  first: readonly RejectedRow[];
  /** The file that has all of them; null: there is none. */
  report: string | null;
}

export interface ImportEnd {
  place: LeadPlace;
  mode: 'upsert' | 'replace';
  isResumed: boolean;
  outcome: ImportOutcome;
  /** Profiles that went, as the input does not name them; null: those before could not be read. */
  removed: number | null;
  durationMs: number;
  rejections: Rejections;
}

/** What people are told of rejected rows; nothing where there are none. */
export const rejectedLines = ({ count, first, report }: Rejections): string[] => {
  if (count === 0) return [];
  const which =
    first.length === 0
      ? ', all before this import was gone on with.'
      : count === first.length
        ? ':'
        : ', among them:';
  const shown = first.map(({ file, line, problem }) => printable(`  ${file}:${line}: ${problem}`));
  return [
    `${countOf(count, 'row was', 'rows were')} rejected${which}`,
    ...shown,
    ...(report === null ? [] : [printable(`All of them, and why: ${report}`)]),
  ];
};

/** Fewer tell what an import takes at least, and not how fast it is. */
const leastTimedRows = 1_000;

const rateOf = ({ isResumed, outcome, durationMs }: ImportEnd): number | null =>
  isResumed || durationMs === 0 ? null : Math.round((outcome.rows / durationMs) * 1_000);

const textOf = (end: ImportEnd): string => {
  const { place, mode, isResumed, outcome, removed, durationMs, rejections } = end;
  const rate = rateOf(end);
  const speed = rate === null || outcome.rows < leastTimedRows ? '' : ` (${formatCount(rate)} rows/s)`;
  const resumed = isResumed ? ', those from before it was stopped included,' : '';
  const figures = figureLines([
    ['added', formatCount(outcome.added)],
    ['updated', formatCount(outcome.updated)],
    ...(mode === 'replace' && removed !== null
      ? [['removed', formatCount(removed), 'the input does not name them'] as const]
      : []),
    ['repeated', formatCount(outcome.repeated), 'a later row has the same username'],
    ['forgotten', formatCount(outcome.forgotten), 'rows of people who asked to be'],
    ['rejected', formatCount(rejections.count)],
    ['profiles', formatCount(outcome.profiles), 'in all, now'],
  ]);
  return `${countOf(outcome.rows, 'row')} taken${resumed} into ${describePlace(place)} in ${formatDuration(durationMs)}${speed}:\n${figures}`;
};

/** What an import has to say at its end. */
export const importAnswer = (end: ImportEnd): Answer => {
  const { place, mode, isResumed, outcome, removed, durationMs, rejections } = end;
  const remark = rejectedLines(rejections).join('\n');
  return {
    json: {
      import: {
        place: place.kind,
        mode,
        resumed: isResumed,
        rows: outcome.rows,
        added: outcome.added,
        updated: outcome.updated,
        removed,
        repeated: outcome.repeated,
        forgotten: outcome.forgotten,
        rejected: rejections.count,
        profiles: outcome.profiles,
        duration_ms: durationMs,
        rows_per_second: rateOf(end),
        report: rejections.report,
        first_rejected: rejections.first.map(({ file, line, problem }) => ({ file, line, problem })),
      },
    },
    text: textOf(end),
    ...(remark === '' ? {} : { remark }),
  };
};

import type { RejectedRow } from '../../leads/import/input-options.ts';
import type { ImportOutcome } from '../../leads/lead-keeper.ts';
import type { Answer } from '../command-context.ts';
import { sanitizeCell } from '../format-table.ts';
import { countOf, figureLines, formatCount, formatDuration } from './figures.ts';
import { describePlace, placeJson, type LeadPlace } from './place.ts';

/** The rejected rows of an import. */
export interface Rejections {
  count: number;
  /** The first of the rows that this command has read; a resumed import has others before. */
  first: readonly RejectedRow[];
  /** The file with all of them; null: there is none. */
  report: string | null;
}

export interface ImportEnd {
  place: LeadPlace;
  mode: 'upsert' | 'replace';
  isResumed: boolean;
  outcome: ImportOutcome;
  /** Profiles that --replace dropped; null: unknown, as the former profiles could not be read. */
  removed: number | null;
  durationMs: number;
  rejections: Rejections;
}

/** Describes rejected rows to people. Undefined if there are none. */
export const describeRejections = ({ count, first, report }: Rejections): string | undefined => {
  if (count === 0) return undefined;
  const which =
    first.length === 0
      ? ', all before this import was resumed.'
      : count === first.length
        ? ':'
        : ', among them:';
  return [
    `${countOf(count, 'row was', 'rows were')} rejected${which}`,
    ...first.map(({ file, line, problem }) => sanitizeCell(`  ${file}:${line}: ${problem}`)),
    ...(report === null ? [] : [sanitizeCell(`All of them, and why: ${report}`)]),
  ].join('\n');
};

/** With fewer rows, the fixed cost of an import hides its speed. */
const minTimedRows = 1_000;

const rateOf = ({ isResumed, outcome, durationMs }: ImportEnd): number | null =>
  isResumed || durationMs === 0 ? null : Math.round((outcome.rows / durationMs) * 1_000);

const textOf = (end: ImportEnd): string => {
  const { place, mode, isResumed, outcome, removed, durationMs, rejections } = end;
  const rate = rateOf(end);
  const speed = rate === null || outcome.rows < minTimedRows ? '' : ` (${formatCount(rate)} rows/s)`;
  const resumed = isResumed ? ', including those before it was stopped,' : '';
  const figures = figureLines([
    ['added', formatCount(outcome.added)],
    ['updated', formatCount(outcome.updated)],
    ...(mode === 'replace' && removed !== null
      ? [['removed', formatCount(removed), 'the input does not name them'] as const]
      : []),
    ['repeated', formatCount(outcome.repeated), 'a later row has the same username'],
    ['forgotten', formatCount(outcome.forgotten), 'rows of people who asked for it'],
    ['rejected', formatCount(rejections.count)],
    ['profiles', formatCount(outcome.profiles), 'in all, now'],
  ]);
  return `${countOf(outcome.rows, 'row')} imported${resumed} into ${describePlace(place)} in ${formatDuration(durationMs)}${speed}:\n${figures}`;
};

export const importAnswer = (end: ImportEnd): Answer => {
  const { place, mode, isResumed, outcome, removed, durationMs, rejections } = end;
  return {
    json: {
      import: {
        ...placeJson(place),
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
    remark: describeRejections(rejections),
  };
};

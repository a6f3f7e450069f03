import type { RejectedRow } from '../../leads/import/input-options.ts';
import type { ImportedProfiles } from '../../leads/import/import-profiles.ts';
import { toImportView } from '../../operator/leads/import-view.ts';
import type { Answer } from '../command-context.ts';
import { sanitizeLine } from '../../kit/sanitize-line.ts';
import { countOf, figureLines, formatCount, formatDuration } from './figures.ts';
import { describePlace, type LeadPlace } from './place.ts';

export interface Rejections {
  count: number;
  /** The first of the rows that this command has read; a resumed import has others before. */
  first: readonly RejectedRow[];
  /** The file with all of them; null: there is none. */
  report: string | null;
}

export interface ImportEnd extends ImportedProfiles {
  place: LeadPlace;
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
    ...first.map(({ file, line, problem }) => sanitizeLine(`  ${file}:${line}: ${problem}`)),
    ...(report === null ? [] : [sanitizeLine(`All of them, and why: ${report}`)]),
  ].join('\n');
};

/** With fewer rows, the fixed cost of an import hides its speed. */
const minTimedRows = 1_000;

const textOf = (
  { place, mode, isResumed, outcome, removed, durationMs, rejections }: ImportEnd,
  rate: number | null,
): string => {
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
  const { count: rejected, first: firstRejected, report } = end.rejections;
  const view = toImportView({ ...end, rejected, firstRejected, report });
  return {
    json: { import: view },
    text: textOf(end, view.rows_per_second),
    remark: describeRejections(end.rejections),
  };
};

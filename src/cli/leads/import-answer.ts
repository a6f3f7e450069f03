import type { InputProgress, RejectedRow } from '../../leads/import/input-options.ts';
import type { ImportedProfiles } from '../../leads/lead-index.ts';
import { importView } from '../../operator/leads/import-leads.ts';
import type { Answer } from '../command-context.ts';
import { sanitizeLine } from '../../kit/text.ts';
import { countOf, figureLines, formatCount, formatDuration } from './figures.ts';
import { describePlace, type LeadPlace } from './place.ts';

/** The rows of an input that were not imported as they are, and why. */
export interface LeftOut {
  input: InputProgress;
  firstRejected: readonly RejectedRow[];
  /** The file with all rejected rows; null: there is none. */
  report: string | null;
}

export interface ImportEnd extends ImportedProfiles, LeftOut {
  place: LeadPlace;
}

/** Describes rejected rows and unknown countries to people. Undefined if there are none. */
export const describeLeftOut = ({ input, firstRejected, report }: LeftOut): string | undefined => {
  const { rejected, unknownCountries } = input;
  const lines: string[] = [];
  if (rejected > 0) {
    const which = rejected === firstRejected.length ? ':' : ', among them:';
    lines.push(`${countOf(rejected, 'row was', 'rows were')} rejected${which}`);
    for (const { file, line, problem } of firstRejected) lines.push(`  ${file}:${line}: ${problem}`);
    if (report !== null) lines.push(`All of them, and why: ${report}`);
  }
  if (unknownCountries.rows > 0) {
    const rows = countOf(unknownCountries.rows, 'row');
    lines.push(`The country of ${rows} is not known and was left out: ${unknownCountries.first.join(', ')}.`);
  }
  return lines.length === 0 ? undefined : lines.map(sanitizeLine).join('\n');
};

/** With fewer rows, the fixed cost of an import hides its speed. */
const minTimedRows = 1_000;

const textOf = ({ place, mode, outcome, durationMs, input }: ImportEnd, rate: number | null): string => {
  const speed = rate === null || outcome.rows < minTimedRows ? '' : ` (${formatCount(rate)} rows/s)`;
  const figures = figureLines([
    ['added', formatCount(outcome.added)],
    ['updated', formatCount(outcome.updated)],
    ...(mode === 'replace' && outcome.removed !== null
      ? [['removed', formatCount(outcome.removed), 'the input does not name them'] as const]
      : []),
    ['repeated', formatCount(outcome.repeated), 'a later row has the same username'],
    ['forgotten', formatCount(outcome.forgotten), 'rows of people who asked for it'],
    ['rejected', formatCount(input.rejected)],
    ...(input.unknownCountries.rows > 0
      ? [['no country', formatCount(input.unknownCountries.rows), 'their country is not known'] as const]
      : []),
    ['profiles', formatCount(outcome.profiles), 'in all, now'],
  ]);
  return `${countOf(outcome.rows, 'row')} imported into ${describePlace(place)} in ${formatDuration(durationMs)}${speed}:\n${figures}`;
};

export const importAnswer = (end: ImportEnd): Answer => {
  const view = importView.show(end);
  return { json: { import: view }, text: textOf(end, view.rows_per_second), remark: describeLeftOut(end) };
};

import { styleText } from 'node:util';
import type { CheckResult, ContractReport } from './run-contract.ts';

const marks = { passed: ['✓', 'green'], failed: ['✗', 'red'], skipped: ['-', 'dim'] } as const;

/** Formats a check as one line, with its observation below. */
export const formatResult = ({ id, title, outcome, reason, durationMs }: CheckResult): string => {
  const [mark, colour] = marks[outcome];
  const time = durationMs >= 1000 ? styleText('dim', ` (${(durationMs / 1000).toFixed(1)} s)`) : '';
  const line = `${styleText(colour, `${mark} ${id.padEnd(8)}`)} ${title}${time}`;
  return reason === null ? line : `${line}\n           ${styleText(colour, reason)}`;
};

export const formatSummary = ({ passed, failed, skipped, spentUsd }: ContractReport): string => {
  const money = spentUsd === null ? '' : `; the balance ${changeOf(spentUsd)}`;
  return `${passed} passed, ${failed} failed, ${skipped} skipped${money}`;
};

/** The balance excludes open holds, so it rises when an earlier hold is released during the run. */
const changeOf = (spentUsd: string): string =>
  spentUsd.startsWith('-') ? `rose by $${spentUsd.slice(1)}` : `fell by $${spentUsd}`;

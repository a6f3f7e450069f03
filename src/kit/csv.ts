import { formatUsd, type Nano } from './money.ts';

/** The characters that spreadsheets take for the beginning of a formula. */
const formulaStart = /^[=+\-@\t\r]/;

const toField = (field: string | Nano): string => {
  if (typeof field === 'bigint') return formatUsd(field);
  const harmless = formulaStart.test(field) ? `'${field}` : field;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
};

/**
 * Formats one record of CSV (RFC 4180) with its line break. No spreadsheet runs a text as a formula; an amount in
 * nano-dollars is written as a decimal, and stays a number.
 */
export const csvLine = (fields: readonly (string | Nano)[]): string => `${fields.map(toField).join(',')}\r\n`;

import type { Answer, Session } from './command.ts';
import { CommandError } from './command-error.ts';
import { writeNewFile, type Write } from './write-new-file.ts';

/**
 * Exports rows to the new file `output`, or else to stdout, and answers with their number. With --json, stdout has the
 * answer, so --output is required. `describe` returns the number for people.
 */
export const exportRows = async (
  noun: 'payments' | 'profiles',
  output: string | undefined,
  { isJson, writePart }: Session,
  {
    writeRows,
    describe,
  }: {
    /** Resolves with the number of rows. */
    writeRows: (write: Write) => Promise<number>;
    describe: (count: number) => Promise<string | undefined> | string;
  },
): Promise<Answer> => {
  if (output !== undefined) {
    const count = await writeNewFile(output, writeRows);
    return { json: { file: output, [noun]: count }, text: `${output}: ${await describe(count)}` };
  }
  if (isJson)
    throw new CommandError('invalid_usage', `With --json, name a file for the ${noun}: --output FILE.`);
  const count = await writeRows(writePart);
  return { json: { [noun]: count }, text: null, remark: await describe(count) };
};

/** The characters that spreadsheets take for the beginning of a formula. */
const formulaStart = /^[=+\-@\t\r]/;

const toField = (text: string): string => {
  const harmless = formulaStart.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
};

/** Formats one record of CSV (RFC 4180) with its line break. No spreadsheet runs a field as a formula. */
export const csvLine = (fields: readonly string[]): string => `${fields.map(toField).join(',')}\r\n`;

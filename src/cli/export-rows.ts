import type { Command } from 'commander';
import type { Answer } from './command-context.ts';
import { CommandError } from './command-error.ts';
import { writeNewFile, type Write } from './write-new-file.ts';

/**
 * Exports rows to the new file of --output, or else to stdout, and answers with their number. With --json, stdout has the
 * answer, so --output is required. `describe` returns the number for people.
 */
export const exportRows = async (
  noun: 'payments' | 'profiles',
  {
    command,
    writePart,
    writeRows,
    describe,
  }: {
    command: Command;
    writePart: Write;
    /** Resolves with the number of rows. */
    writeRows: (write: Write) => Promise<number>;
    describe: (count: number) => Promise<string | undefined> | string;
  },
): Promise<Answer> => {
  const { output, json: isJson } = command.optsWithGlobals<{ output?: string; json?: true }>();
  if (output !== undefined) {
    const count = await writeNewFile(output, writeRows);
    return { json: { file: output, [noun]: count }, text: `${output}: ${await describe(count)}` };
  }
  if (isJson)
    throw new CommandError('invalid_usage', `With --json, name a file for the ${noun}: --output FILE.`);
  const count = await writeRows(writePart);
  return { json: { [noun]: count }, text: null, remark: await describe(count) };
};

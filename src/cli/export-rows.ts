import type { Answer, Session } from './command.ts';
import { CommandError } from './command-error.ts';
import { writeNewFile, type Write } from './write-new-file.ts';

/** Exports rows to the new file `output`, or else to stdout. With --json, that has the answer: `output` is required. */
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

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readNames } from '../../../src/cli/leads/people-commands.ts';
import { temporaryFolder } from '../run-cli.ts';

const stdinOf =
  (...chunks: (string | Buffer)[]) =>
  (): Readable =>
    Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
const noStdin = stdinOf();

describe('the people that a command names', () => {
  it('are taken from its words, from a file and from standard input together, each once', async () => {
    const file = join(await temporaryFolder(), 'names.txt');
    await writeFile(file, '\uFEFF@jane.doe\r\n\r\n  John_Doe \nMAX');
    const names = await readNames(
      { usernames: ['max', '-', '@ann'], file },
      { stdin: stdinOf('ann\nbob\n') },
    );
    expect(names).toEqual(['MAX', 'ann', 'bob', 'jane.doe', 'John_Doe']);
  });

  it('are the same, wherever the pieces that are read divide them', async () => {
    const bytes = [...Buffer.from('josé\nann\r\n')].map((byte) => Buffer.from([byte]));
    expect(await readNames({ usernames: ['-'] }, { stdin: stdinOf(...bytes) })).toEqual(['josé', 'ann']);
  });

  it('may be called as a column is, where that cannot be its heading', async () => {
    const given = { usernames: ['handle', '-'] };
    expect(await readNames(given, { stdin: stdinOf('@username\nuser\n') })).toEqual([
      'handle',
      'username',
      'user',
    ]);
  });

  it.each([
    { usernames: ['jane doe'], says: /^username is "jane doe"; it must be .*Nothing was changed\.$/ },
    { usernames: ['ann', ''], says: /username is missing/ },
    { usernames: ['https://example.com/ann'], says: /without spaces, slashes, quotes/ },
    { usernames: [], says: /Name at least one person/ },
  ])('are refused before anything is changed: $usernames', async ({ usernames, says }) => {
    await expect(readNames({ usernames }, { stdin: noStdin })).rejects.toMatchObject({
      code: 'invalid_usage',
      message: expect.stringMatching(says),
    });
  });

  it.each([
    { chunks: ['ann\nbob or so\n'], says: /^Standard input, line 2: username is "bob or so"/ },
    { chunks: ['x'.repeat(20_000)], says: /^Standard input is not a list of usernames, one a line/ },
    { chunks: [Buffer.from([0x6a, 0xe9, 0x0a])], says: /^Standard input is not UTF-8 text/ },
    { chunks: [Buffer.from([0x6a, 0xc3])], says: /^Standard input is not UTF-8 text/ },
    { chunks: ['\n\n'], says: /^Standard input: there is no name in it\. Nothing was changed\.$/ },
    { chunks: ['ann\n"jane.doe"\n'], says: /^Standard input, line 2: username is ""jane\.doe""; it must be/ },
    { chunks: ['jane.doe,\n'], says: /line 1: username is "jane\.doe,"/ },
    {
      chunks: ['\n User_Name \r\nann\n'],
      says: /^Standard input, line 2: "User_Name" looks like the heading of a column; .*@User_Name.*Nothing was/,
    },
  ])('are refused with the line where they stand: $says', async ({ chunks, says }) => {
    const reading = readNames({ usernames: ['-'] }, { stdin: stdinOf(...chunks) });
    await expect(reading).rejects.toThrow(says);
  });

  it('are missed in a file without names', async () => {
    const file = join(await temporaryFolder(), 'empty.txt');
    await writeFile(file, ' \n');
    await expect(readNames({ usernames: [], file }, { stdin: noStdin })).rejects.toMatchObject({
      code: 'invalid_usage',
      message: `${file}: there is no name in it. Nothing was changed.`,
    });
  });

  it('cannot come from a file that is not there, or is a folder', async () => {
    const folder = await temporaryFolder();
    const read = (file: string) => readNames({ usernames: ['ann'], file }, { stdin: noStdin });
    await expect(read(join(folder, 'none'))).rejects.toMatchObject({
      code: 'input_failed',
      message: expect.stringMatching(/none cannot be read: the file does not exist\. Nothing was changed\.$/),
    });
    await expect(read(folder)).rejects.toThrow(/cannot be read: it is a folder/);
  });
});

import { execFileSync } from 'node:child_process';
import { appendFile, chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { LeadInputOptions } from '../../../src/leads/import/input-options.ts';
import { openLeadInput } from '../../../src/leads/import/open-lead-input.ts';
import { createFolder, plainDefaults, readAll, readText, usernames, writeTemporary } from './read-all.ts';

/** Good rows and bad ones, text of one to four bytes a character, rows of several lines and blank ones. */
const messyCsv = (rows: number): string => {
  const row = (index: number): string => {
    if (index % 97 === 0) return '';
    if (index % 31 === 0) return `user${index},many,x`;
    if (index % 53 === 0) return `user${index},"5,x`;
    return index % 3 === 0 ? `user${index},${index},"zeile 😀\n${index} ""é"""` : `user${index},${index},été`;
  };
  return `username,followers,bio\n${Array.from({ length: rows }, (_, index) => row(index)).join('\n')}\n`;
};
const messyJsonl = (rows: number): string =>
  Array.from({ length: rows }, (_, index) =>
    index % 31 === 0
      ? '{"username":'
      : JSON.stringify({ username: `user${index}`, followers: index, bio: '😀 été' }),
  ).join('\n');

const packings = {
  plain: (text: string) => Buffer.from(text),
  gzip: gzipSync,
  zstd: zstdCompressSync,
} as const;

describe('an input', () => {
  it.each(['plain', 'gzip', 'zstd'] as const)('is read in batches ($0)', async (packing) => {
    const csv = await writeTemporary('dump', packings[packing](messyCsv(3500)));
    const jsonl = await writeTemporary('other', packings[packing](messyJsonl(3500)));
    const read = await readAll({ files: [csv, jsonl] });
    expect(read.batches.length).toBeGreaterThan(6);
    for (const batch of read.batches) expect(batch.length).toBeLessThanOrEqual(1000);
    const { leads, rejected } = await readText('dump.csv', messyCsv(3500));
    expect(read.leads.slice(0, leads.length)).toEqual(leads);
    expect(usernames(read).at(-1)).toBe('user3499');
    expect(read.rejected.length).toBe(rejected.length + Math.ceil(3500 / 31));
    expect(read.progress).toMatchObject({
      rows: read.leads.length + read.rejected.length,
      rejected: read.rejected.length,
    });
  });

  it('goes on at the right row after a line that is too long', async () => {
    const rows = messyCsv(1200);
    const file = await writeTemporary('a.csv', rows.replace('user7,', `${'x'.repeat(1_300_000)}\nuser7,`));
    const whole = await readText('b.csv', rows);
    const read = await readAll({ files: [file] });
    expect(read.leads).toEqual(whole.leads);
    expect(read.rejected.length).toBe(whole.rejected.length + 1);
    const after = ({ line }: { line: number }): boolean => line > 20;
    expect(read.rejected.filter(after).map(({ line }) => line - 1)).toEqual(
      whole.rejected.filter(({ line }) => line > 19).map(({ line }) => line),
    );
  });

  it('counts the countries that it does not know, imports the rows without them, and reads names', async () => {
    const countries = ['us', 'United States', 'Deutschland', 'Atlantis', 'Mars', 'Atlantis', '', 'n/a'];
    const rows = countries.map((country, index) => `user${index},${index},${country}`);
    const read = await readText('a.csv', `username,followers,country\n${rows.join('\n')}\n`);
    expect(read.leads.map(({ country }) => country)).toEqual(['US', 'US', 'DE', ...Array(5).fill(undefined)]);
    expect(read.rejected).toEqual([]);
    expect(read.progress.unknownCountries).toEqual({ rows: 3, first: ['"Atlantis"', '"Mars"'] });
  });

  it('reads several files one after the other, and names the file of a rejected row', async () => {
    const first = await writeTemporary('a.csv', 'username,followers\nmira,5\nben,x\n');
    const second = await writeTemporary('b.jsonl', '{"username":"zoe","followers":6}\n{}\n');
    const read = await readAll({ files: [first, second] });
    expect(usernames(read)).toEqual(['mira', 'zoe']);
    expect(read.rejected).toMatchObject([
      { file: first, line: 3 },
      { file: second, line: 2 },
    ]);
  });

  it('returns no row if one of its files is unreadable', async () => {
    const good = await writeTemporary('good.csv', 'username,followers\nanna,5\n');
    for (const [name, content, problem] of [
      ['bad.json', '[{"username":"bert","followers":5}]', /bad\.json is a JSON array/],
      ['bad.csv', 'nick,followers\nbert,5\n', /bad\.csv has no column for username/],
      [
        'bad.jsonl',
        `{"nick":"bert","followers":5,"bio":"${'x'.repeat(2_000)}"}\n`.repeat(700),
        /bad\.jsonl has no column for username/,
      ],
    ] as const) {
      const bad = await writeTemporary(name, content);
      for (const files of [[good, bad], [bad]]) {
        const input = await openLeadInput({ files });
        const batches = input.read({ signal: new AbortController().signal });
        await expect(Array.fromAsync(batches)).rejects.toThrow(problem);
        expect(input.progress().rows).toBe(0);
      }
    }
  });

  it('from standard input is detected by its first bytes, compressed or not', async () => {
    const csv = 'username,followers\nmira,5\n';
    for (const content of [csv, gzipSync(csv), zstdCompressSync(csv), '{"username":"mira","followers":5}']) {
      const bytes = [...Buffer.from(content)].map((byte) => Buffer.from([byte]));
      const read = await readAll({ files: ['-'], stdin: Readable.from(bytes) });
      expect(usernames(read)).toEqual(['mira']);
    }
  });

  it.skipIf(process.platform === 'win32')('of a pipe is read once', async () => {
    const pipe = join(await createFolder(), 'pipe.csv');
    execFileSync('/usr/bin/mkfifo', [pipe]);
    const input = await openLeadInput({ files: [pipe], defaults: plainDefaults });
    const writing = appendFile(pipe, 'username,followers\nmira,5\n');
    const batches = input.read({ signal: new AbortController().signal });
    const { value } = await batches[Symbol.asyncIterator]().next();
    await writing;
    expect(value).toMatchObject([{ username: 'mira' }]);
  });

  it('reports its progress in bytes on the disk and in rows', async () => {
    const content = gzipSync(messyCsv(3500));
    const input = await openLeadInput({
      files: [await writeTemporary('a.csv.gz', content)],
      defaults: plainDefaults,
      maxRejected: { percent: 10 },
    });
    expect(input.progress()).toEqual({
      bytes: 0,
      totalBytes: content.length,
      rows: 0,
      rejected: 0,
      unknownCountries: { rows: 0, first: [] },
    });
    const rows: number[] = [];
    for await (const _ of input.read({ signal: new AbortController().signal }))
      rows.push(input.progress().rows);
    expect(rows.slice(0, 3)).toEqual([1000, 2000, 3000]);
    expect(input.progress()).toMatchObject({
      bytes: content.length,
      rejected: expect.toSatisfy((n) => n > 100),
    });
  });

  it('from a named pipe is read to its end, and can be aborted before a writer comes', async () => {
    const file = join(await createFolder(), 'pipe');
    execFileSync('mkfifo', [file]);
    const waiting = new AbortController();
    const silent = await openLeadInput({ files: [file] });
    const next = silent.read({ signal: waiting.signal })[Symbol.asyncIterator]().next();
    await new Promise((resolve) => setImmediate(resolve));
    waiting.abort(new Error('no longer'));
    await expect(next).rejects.toThrow('no longer');

    const content = messyCsv(3500);
    const reading = readAll({ files: [file] });
    await writeFile(file, content);
    const { leads } = await reading;
    expect(leads).toEqual((await readText('a.csv', content)).leads);
    expect(leads.length).toBeGreaterThan(1000);
  });

  it('ends with the reason of its signal', async () => {
    const file = await writeTemporary('a.csv', messyCsv(3500));
    const controller = new AbortController();
    const input = await openLeadInput({
      files: [file],
      defaults: plainDefaults,
      maxRejected: { percent: 10 },
    });
    const batches = input.read({ signal: controller.signal });
    const iterator = batches[Symbol.asyncIterator]();
    await iterator.next();
    controller.abort(new Error('enough'));
    await expect(iterator.next()).rejects.toThrow('enough');

    const waiting = new AbortController();
    const silent = await openLeadInput({ files: ['-'], stdin: new PassThrough() });
    const next = silent.read({ signal: waiting.signal })[Symbol.asyncIterator]().next();
    waiting.abort(new Error('no longer'));
    await expect(next).rejects.toThrow('no longer');
  });

  it('fails with the error of the callback of rejected rows', async () => {
    const file = await writeTemporary('a.csv', 'username,followers\nmira,5\nben,x\n');
    const onRejected = (): void => {
      throw new Error('no room for the report');
    };
    await expect(readAll({ files: [file], onRejected })).rejects.toThrow('no room');
  });

  it.each(['username,followers\nmira,5\n', '{"username":"mira","followers":5}\n'])(
    'is refused with a million more blank lines than rows, whatever follows: %j',
    async (rows) => {
      const blank = Buffer.alloc(1_001_000, '\n');
      const content = zstdCompressSync(Buffer.concat([Buffer.from(rows), blank, Buffer.from('no row\n')]));
      await expect(readText('dump.zst', content)).rejects.toThrow('a million more blank lines than rows');
    },
  );

  it('is refused if it changes while being read', async () => {
    const file = await writeTemporary('a.csv', messyCsv(3500));
    const input = await openLeadInput({
      files: [file],
      defaults: plainDefaults,
      maxRejected: { percent: 10 },
    });
    const read = async (): Promise<void> => {
      for await (const _ of input.read({ signal: new AbortController().signal }))
        await appendFile(file, 'more,5,\n');
    };
    await expect(read()).rejects.toThrow(/changed during the import/);
  });

  it.each<[LeadInputOptions, RegExp]>([
    [{ files: ['-', '-'] }, /- is named twice/],
    [{ files: ['/no/such/file.csv'] }, /^\/no\/such\/file\.csv cannot be read: the file does not exist\.$/],
  ])('of %j is refused before anything is read', async (options, message) => {
    await expect(openLeadInput(options)).rejects.toThrow(message);
  });

  it('is refused if it is a folder', async () => {
    const folder = join(await createFolder(), 'profiles.csv');
    await mkdir(folder);
    await expect(openLeadInput({ files: [folder] })).rejects.toThrow(/is a folder; name the files in it/);
  });

  it.skipIf(process.getuid?.() === 0)('of a file that may not be read is an error', async () => {
    const file = await writeTemporary('a.csv', 'username,followers\n');
    await chmod(file, 0);
    await expect(readAll({ files: [file] })).rejects.toThrow(/this user may not read it/);
  });

  it.each([
    ['PK\u0003\u0004....................', /ZIP archive or an Excel workbook/],
    [Buffer.from('username,followers', 'utf16le'), /looks like UTF-16\. Convert .*-f UTF-16LE /],
    [Buffer.from('username,followers', 'utf16le').swap16(), /looks like UTF-16\. Convert .*-f UTF-16BE /],
    [
      Buffer.from('имя,подписчики\nanna,5\n', 'utf16le').swap16(),
      /looks like UTF-16\. Convert .*-f UTF-16BE /,
    ],
    ['username,foll\0owers\nann,5\n', /has a NUL character \(byte 14\).*tr -d '\\000' < OLD > NEW$/],
    [Buffer.from([0x89, 0x50, 0, 0, 0, 0x0d, 0x49, 0, 0, 1]), /is not a text file\.$/],
    [
      Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('username', 'utf16le')]),
      /is UTF-16; convert it first/,
    ],
    [gzipSync(Buffer.from([0xfe, 0xff, 0, 65])), /is UTF-16/],
    [gzipSync(messyCsv(3500)).subarray(0, 5000), /ends in the middle of its gzip data/],
    [zstdCompressSync(messyCsv(3500)).subarray(0, 5000), /ends in the middle of its zstd data/],
  ])('of another kind, or cut off, is an error that says what to do', async (content, message) => {
    await expect(readText('profiles.csv', content)).rejects.toThrow(message);
  });
});

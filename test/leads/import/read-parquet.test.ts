import { parquetWriteBuffer, type ColumnSource } from 'hyparquet-writer';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readAll, readText, refusals, usernames, writeTemporary } from './read-all.ts';

const fromDuckDb = join(import.meta.dirname, 'fixtures', 'duckdb-profiles.parquet');

const parquetOf = (columnData: ColumnSource[], rowGroupSize = 1000): Uint8Array =>
  new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize }));

const twoColumns = (rows: number, rowGroupSize?: number): Uint8Array =>
  parquetOf(
    [
      { name: 'username', data: Array.from({ length: rows }, (_, row) => `user${row}`), type: 'STRING' },
      { name: 'followers', data: Array.from({ length: rows }, (_, row) => row), type: 'INT32' },
    ],
    rowGroupSize,
  );

describe('a Parquet file', () => {
  it('of another program is read: bigints, doubles, nulls, structures and lists', async () => {
    const read = await readAll({
      files: [fromDuckDb],
      columns: { country: '/place/code', city: 'place/city' },
    });
    const written = (await readFile(fromDuckDb.replace('.parquet', '.jsonl'), 'utf8')).trim().split('\n');
    expect(read.leads.slice(0, 40)).toEqual(written.map((line): unknown => JSON.parse(line)));
    expect(read.leads.slice(40)).toMatchObject([
      { username: 'nulls.everywhere', followers: 5, full_name: '' },
    ]);
    expect(refusals(read)).toEqual([
      [42, 'followers is missing; it must be a whole number.'],
      [43, expect.stringMatching(/^followers is 9007199254740993; it must be a whole number/)],
    ]);
    expect(JSON.parse(read.rejected[1]?.row ?? '')).toMatchObject({
      username: 'too_many',
      followers: '9007199254740993',
    });
    expect(read.unused).toEqual(['scraped_at']);
  });

  it('invents no values', async () => {
    const file = await writeTemporary(
      'profiles.parquet',
      parquetOf([
        { name: 'username', data: ['ann', 'bob', 'cy'], type: 'STRING' },
        { name: 'full_name', data: ['', null, 'Cy'], type: 'STRING' },
        { name: 'followers', data: [5, 4, 3], type: 'INT32' },
        { name: 'following', data: [1, 2, null], type: 'INT32' },
        { name: 'is_verified', data: [true, false, true], type: 'BOOLEAN' },
      ]),
    );
    const none = await readAll({ files: [file], defaults: {} });
    expect(none.leads).toEqual([]);
    expect(refusals(none).map(([, problem]) => problem.split(';')[0])).toEqual([
      'is_business is missing',
      'full_name is missing',
      'following is missing',
    ]);
    const read = await readAll({ files: [file], defaults: { is_business: false, following: 7 } });
    expect(read.leads).toEqual([
      { username: 'ann', full_name: '', followers: 5, following: 1, is_verified: true, is_business: false },
      { username: 'cy', full_name: 'Cy', followers: 3, following: 7, is_verified: true, is_business: false },
    ]);
  });

  it('is read by row groups', async () => {
    const file = await writeTemporary('profiles.parquet', twoColumns(5500, 1700));
    const whole = await readAll({ files: [file] });
    expect(usernames(whole)).toEqual(Array.from({ length: 5500 }, (_, row) => `user${row}`));
    expect(whole.batches.length).toBeGreaterThan(5);
  });

  it('matches its columns like other formats', async () => {
    const content = parquetOf([
      { name: 'handle', data: ['mira'] },
      { name: 'x', data: ['y'] },
    ]);
    await expect(readText('profiles.parquet', content)).rejects.toThrow(
      /has no column for followers\. Its columns: handle, x\./,
    );
  });

  it('is detected by its first bytes, whatever its name', async () => {
    expect(usernames(await readText('dump', twoColumns(2)))).toEqual(['user0', 'user1']);
  });

  it('is refused with the reason if compressed, cut off, damaged or from a pipe', async () => {
    const whole = await readFile(fromDuckDb);
    const damaged = Buffer.from(whole);
    damaged.fill(0xee, 200, 2000);
    await expect(readText('a.parquet.gz', gzipSync(whole))).rejects.toThrow(
      /compressed with gzip; decompress it first/,
    );
    await expect(readText('dump.gz', gzipSync(whole))).rejects.toThrow(/is a compressed Parquet file/);
    await expect(readAll({ files: [fromDuckDb], format: 'csv' })).rejects.toThrow(
      /is Parquet; omit the format/,
    );
    await expect(readText('a.parquet', whole.subarray(0, 5000))).rejects.toThrow(/may be cut off/);
    await expect(readText('a.parquet', 'username,followers\nmira,5\n')).rejects.toThrow(
      /is not a Parquet file/,
    );
    await expect(readText('a.parquet', damaged)).rejects.toThrow(/cannot be read as Parquet|is damaged/);
    await expect(readAll({ files: ['-'], stdin: Readable.from([whole]) })).rejects.toThrow(/use a file/);
  });

  it('is refused if a row group is too large for the memory', async () => {
    const { parquetMetadata } = await import('hyparquet');
    const content = twoColumns(10);
    expect(parquetMetadata(content.buffer as ArrayBuffer).row_groups).toHaveLength(1);
    const { slicesOf } = await import('../../../src/leads/import/read-parquet.ts');
    const metadata = parquetMetadata(content.buffer as ArrayBuffer);
    for (const column of metadata.row_groups[0]?.columns ?? [])
      if (column.meta_data !== undefined) column.meta_data.total_uncompressed_size = 2n ** 30n;
    expect(() => [...slicesOf(metadata, { file: 'a.parquet', tops: ['username', 'followers'] })]).toThrow(
      /2147483648 bytes in row group 1; .* smaller row groups/,
    );
    expect([...slicesOf(metadata, { file: 'a.parquet', tops: ['username'] })]).toMatchObject([
      { start: 0, end: 10 },
    ]);
  });
});

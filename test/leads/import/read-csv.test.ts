import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCsv } from '../../../src/leads/import/read-csv.ts';
import type { RowBatch } from '../../../src/leads/import/row-batch.ts';
import { buildLead } from '../build-lead.ts';
import { plainDefaults, readText, refusals, usernames } from './read-all.ts';

const header = 'username,full_name,followers,bio\n';

describe('a CSV file', () => {
  it.each([
    ['commas', 'username,followers\nmira,5\n'],
    ['semicolons', 'username;followers\nmira;5\n'],
    ['tabs', 'username\tfollowers\nmira\t5\n'],
    ['bars', 'username|followers\nmira|5\n'],
    ['CRLF', 'username,followers\r\nmira,5\r\n'],
    ['a byte order mark', '\uFEFFusername,followers\nmira,5\n'],
    ['a byte order mark before a quote', '\uFEFF"a,b",username,followers\n,mira,5\n'],
    ['no line break at its end', 'username,followers\nmira,5'],
    ['quotes everywhere', '"username","followers"\r\n"mira","5"'],
    ['blank lines', '\n\nusername,followers\n\nmira,5\n\r\n'],
    ['a header in other words', 'Handle,Followers Count\nmira,5\n'],
    ['the line in which Excel names the delimiter', '\uFEFFsep=;\r\nusername;followers\r\nmira;5\r\n'],
    ['such a line and other signs in its header', '"SEP=|"\n\na,b,c,d|followers|username\n|5|mira\n'],
    ['delimiters in its quoted header', '"username",followers,"a;b;c;d"\nmira,5,\n'],
  ])('is read with %s', async (_, content) => {
    const read = await readText('profiles.csv', content);
    expect(read.leads).toMatchObject([{ username: 'mira', followers: 5 }]);
    expect(read.rejected).toEqual([]);
  });

  it('is read with line breaks, delimiters and quotes within quotes', async () => {
    const read = await readText(
      'profiles.csv',
      `${header}mira,"Oak, ""M""",5,"one\r\ntwo, ""three""\n"\nben,6'2" Ben,6,x\n`,
    );
    expect(read.leads).toMatchObject([
      { full_name: 'Oak, "M"', bio: 'one\r\ntwo, "three"' },
      { full_name: '6\'2" Ben' },
    ]);
  });

  it('is read without the NUL characters in it', async () => {
    const read = await readText('profiles.csv', `${header}mira,M,5,${'x'.repeat(99)}\nben,B\0en,6,\0\n`);
    expect(read.leads[1]).toEqual(
      buildLead({ username: 'ben', full_name: 'Ben', followers: 6, following: 0 }),
    );
  });

  it('is read with the delimiter that is asked for', async () => {
    const read = await readText('profiles.csv', 'username:followers:a,b,c\nmira:5:\n', { delimiter: ':' });
    expect(usernames(read)).toEqual(['mira']);
  });

  it('is read without a header if columns are named by position', async () => {
    const options = { hasHeader: false, columns: { username: '#2', followers: '#1' } };
    const read = await readText('profiles.csv', '5,mira,x\n6,ben,y\n', options);
    expect(read.leads).toMatchObject([
      { username: 'mira', followers: 5 },
      { username: 'ben', followers: 6 },
    ]);
    expect(read.unused).toEqual(['#3']);
    const named = await readText('profiles.csv', 'sep=,\n5,mira,x\n6,ben y,y\n', options);
    expect([usernames(named), refusals(named)]).toEqual([
      ['mira'],
      [[3, expect.stringMatching(/^username/)]],
    ]);
  });

  it('reports rejected rows with their first physical line, and imports the rest', async () => {
    const read = await readText(
      'profiles.csv',
      `${header}mira,M,5,"a\nb\nc"\nben,B,many,\n\nzoe,Z,7\nkim,K,8,,\nlou,L,9,x\n`,
    );
    expect(usernames(read)).toEqual(['mira', 'lou']);
    expect(refusals(read)).toEqual([
      [
        5,
        'followers is "many"; it must be a whole number from 0 to 2147483647, such as 1234 or 1,234, not 1.234.',
      ],
      [7, 'The row has 3 columns, the header has 4.'],
      [8, 'The row has 5 columns, the header has 4.'],
    ]);
    expect(read.rejected[0]?.row).toBe('ben,B,many,');
  });

  it('loses only one row to an unclosed quote', async () => {
    const read = await readText('profiles.csv', `${header}mira,"M,5,\nben,B,6,\nzoe,Z,7,\n`);
    expect(usernames(read)).toEqual(['ben', 'zoe']);
    expect(refusals(read)).toEqual([[2, expect.stringMatching(/quote in this row is not closed/)]]);
  });

  it('loses one row to a quote that another row closes', async () => {
    const read = await readText('profiles.csv', `${header}mira,"M,5,\nben,B,6,\nzoe,"Z",7,\nkim,K,8,\n`);
    expect(usernames(read)).toEqual(['ben', 'zoe', 'kim']);
    expect(refusals(read)).toEqual([[2, expect.stringMatching(/^Text follows a closing quote/)]]);
  });

  it('rereads the lines of a multi-line row with a wrong number of columns', async () => {
    const read = await readText('profiles.csv', `${header}mira,M,5,"x\nben,B,6,\nzoe,Z,7",\nkim,K,8,\n`);
    expect(usernames(read)).toEqual(['ben', 'kim']);
    expect(refusals(read)).toEqual([
      [2, expect.stringMatching(/^The row has more columns than the header, which has 4\./)],
      [4, expect.stringMatching(/^followers is "7"";/)],
    ]);
  });

  it('reads no more cells of a row with quotes than its header has columns', async () => {
    const read = await readText('profiles.csv', `${header}${'a",x,"\n'.repeat(500)}mira,M,5,"x"\n`);
    expect(usernames(read)).toEqual(['mira']);
    const wide = refusals(read).filter(([, problem]) => problem.startsWith('The row has more columns'));
    expect(wide.map(([line]) => line).slice(0, 490)).toEqual(
      Array.from({ length: 490 }, (_, row) => row + 2),
    );
  });

  it('rejects a row whose quote is not closed within a MiB, without reading to the end of the file', async () => {
    const read = await readText(
      'profiles.csv',
      `${header}mira,"M,5,\n${'ben,B,6,\n'.repeat(150_000)}zoe,"Z",7,\n`,
    );
    expect(read.leads).toHaveLength(150_001);
    expect(refusals(read)).toEqual([[2, expect.stringMatching(/not closed within 1048576 characters/)]]);
  });

  it('rejects a line longer than a MiB and continues after it', async () => {
    const read = await readText('profiles.csv', `${header}mira,M,5,${'x'.repeat(1_200_000)}\nben,B,6,\n`);
    expect(usernames(read)).toEqual(['ben']);
    expect(refusals(read)).toEqual([[2, 'The line is longer than 1048576 bytes.']]);
    expect(read.rejected[0]?.row).toHaveLength(4000);
  });

  it('rejects only the rows that are not UTF-8', async () => {
    const bold = await readText('profiles.csv', `${header}ann,\u{1D400}\u{1F400},5,\u{10000}\n`);
    expect(bold).toMatchObject({ leads: [{ full_name: '\u{1D400}\u{1F400}' }], rejected: [] });
    const content = Buffer.from(`${header}mira,Renée,5,\nben,René,6,\n`, 'latin1');
    const mixed = Buffer.concat([
      content,
      Buffer.from('zoe,Zoé 𝐀\u{10000},7,\nkim,"a\n'),
      Buffer.from([0xff]),
      Buffer.from('",8,\n'),
    ]);
    const read = await readText('profiles.csv', mixed);
    expect(read.leads).toMatchObject([{ username: 'zoe', full_name: 'Zoé 𝐀\u{10000}' }]);
    expect(refusals(read)).toEqual(
      [2, 3, 5].map((line) => [line, expect.stringMatching(/^The row is not UTF-8/)]),
    );
  });

  it.each([
    ['', /is empty/],
    [
      'a,b,c\n1,2,3\n',
      /has no column for username\. Its columns: a, b, c\. .*: column username=NAME.*there is no header/,
    ],
    ['username,fans\nmira,5\n', /has no column for followers/],
    [
      'username,handle2,followers,Followers\na,b,1,2\n',
      /more than one column for followers: followers \(#3\), Followers \(#4\)\. .*: column followers=#3\.$/,
    ],
    ['sep=;\n', /is empty; it does not even have a header line/],
    ['\n\n', /is empty; it does not even have a header line/],
    ['"username,followers\nmira,5\n', /unclosed quote in its header/],
    ['"username"x,followers\nmira,5\n', /text follows a closing quote in its first row/],
    [`username,followers${','.repeat(10_000)}\n`, /has more than 10000 columns/],
    ['username,followers\rmira,5\r', /ends its lines with CR alone/],
    [Buffer.from('username,followers,Prénom\n', 'latin1'), /line 1: The row is not UTF-8/],
  ])('that cannot be one as a whole is an error: %o', async (content, message) => {
    await expect(readText('profiles.csv', content)).rejects.toThrow(message);
  });
});

const cell = fc.oneof(
  fc.string({ unit: fc.constantFrom('"', ',', ';', '\n', '\r', 'a', 'é', '😀', ' '), maxLength: 8 }),
  fc.string({ unit: 'grapheme', maxLength: 5 }),
);
const quoted = (text: string, always: boolean): string =>
  always || /^\s*$|[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

async function* inPieces(content: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  for (let at = 0, turn = 0; at < content.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield content.subarray(at, at + size);
    at += size;
  }
}

const collect = async (batches: AsyncIterable<RowBatch>): Promise<RowBatch[]> => {
  const all: RowBatch[] = [];
  for await (const batch of batches) all.push(batch);
  return all;
};

describe('any CSV file', () => {
  it('returns the written cells, however its bytes are split', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ bio: cell, city: cell, always: fc.boolean() }), { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
        fc.constantFrom('\n', '\r\n'),
        fc.constantFrom(',', ';'),
        async (rows, sizes, lineBreak, delimiter) => {
          const lines = rows.map(({ bio, city, always }, index) =>
            [`user${index}`, quoted(bio, always), '5', quoted(city, always)].join(delimiter),
          );
          const content = Buffer.from(
            [['username', 'bio', 'followers', 'city'].join(delimiter), ...lines].join(lineBreak),
          );
          const batches = await collect(
            readCsv(inPieces(content, sizes), {
              file: 'profiles.csv',
              delimiter,
              hasHeader: true,
              defaults: plainDefaults,
              onUnusedColumns: () => {},
            }),
          );
          expect(batches.flatMap(({ rejected }) => rejected)).toEqual([]);
          const leads = batches.flatMap(({ leads }) => leads);
          expect(leads.map(({ username, bio = '', city = '' }) => [username, bio, city])).toEqual(
            rows.map(({ bio, city }, index) => [`user${index}`, bio.trim(), city.trim()]),
          );
        },
      ),
      { numRuns: 200 },
    );
  });

  it('is read to its end, each row once, whatever it contains', async () => {
    const piece = fc.constantFrom('a', '"', ',', '\n', '\r\n', 'mira,5\n', '"x\ny",5\n', '""', 'é', '\n"');
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 40 }),
        fc.integer({ min: 1, max: 30 }),
        async (pieces, size) => {
          const content = Buffer.from(`username,followers\n${pieces.join('')}`);
          const read = (sizes: readonly number[]): Promise<RowBatch[]> =>
            collect(
              readCsv(inPieces(content, sizes), {
                file: 'profiles.csv',
                hasHeader: true,
                defaults: plainDefaults,
                onUnusedColumns: () => {},
              }),
            );
          const rowsOf = (batches: readonly RowBatch[]): unknown[] => [
            batches.flatMap(({ leads }) => leads),
            batches.flatMap(({ rejected }) => rejected),
          ];
          const atOnce = await read([1_000_000]);
          const inParts = await read([size]);
          expect(rowsOf(inParts)).toEqual(rowsOf(atOnce));
          // No whole good row is lost to what stands before it.
          const good = pieces
            .join('')
            .split('\n')
            .filter((line) => line === 'mira,5').length;
          const isQuoted = pieces.some((each) => each.includes('"'));
          const found = atOnce
            .flatMap(({ leads }) => leads)
            .filter(({ username }) => username === 'mira').length;
          if (!isQuoted) expect(found).toBeGreaterThanOrEqual(good);
        },
      ),
      { numRuns: 300 },
    );
  });
});

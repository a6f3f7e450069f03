import { copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eraseRows } from '../../../../src/leads/embedded/segment/erase-rows.ts';
import { openSegment } from '../../../../src/leads/embedded/segment/open-segment.ts';
import { SegmentDamagedError } from '../../../../src/leads/embedded/segment/segment-format.ts';
import type { Lead, LeadQuery } from '../../../../src/leads/lead-source.ts';
import { createReferenceSearch } from '../../reference-search.ts';
import { generateLeads } from '../../../../src/leads/synthetic/generate-leads.ts';
import { tinyShape, withSegment } from './with-segment.ts';

const leads = [...generateLeads({ seed: 3, profiles: 400 })];
const reference = createReferenceSearch(leads);
const shape = { ...tinyShape, chunkRows: 128, mostShortRows: 20, mostPrefixRows: 10 };
const queries: LeadQuery[] = [
  { limit: 100 },
  { query: 'fit', limit: 100 },
  { query: 'travel', country: 'US', limit: 20 },
  { query: 'pho', gender: 'female', limit: 50 },
  { country: 'BR', maxFollowers: 3000, limit: 50 },
  { minFollowers: 1000, maxFollowers: 5000, limit: 100 },
  ...leads.slice(0, 20).map(({ username }) => ({ query: username, limit: 5 })),
];

/** What is found, or that the file was seen to be damaged. */
const ask = (file: string): (Lead[] | 'damaged')[] => {
  const orDamaged = <T>(work: () => T): T | 'damaged' => {
    try {
      return work();
    } catch (error) {
      expect(error).toBeInstanceOf(SegmentDamagedError);
      return 'damaged';
    }
  };
  const segment = orDamaged(() => openSegment(file));
  if (segment === 'damaged') return queries.map(() => 'damaged');
  try {
    return queries.map((query) => orDamaged(() => segment.search(query, null)));
  } finally {
    segment.close();
  }
};

describe('a damaged segment', () => {
  it('reports damage or answers correctly, whichever bytes are changed', async () => {
    const expected = queries.map((query) => reference(query));
    let damaged = 0;
    await withSegment(
      leads,
      (_, file) => {
        const whole = readFileSync(file);
        fc.assert(
          fc.property(
            fc.array(fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 })), {
              minLength: 1,
              maxLength: 40,
            }),
            (changes) => {
              const bytes = Buffer.from(whole);
              for (const [place, change] of changes) bytes[place] = (bytes[place] ?? 0) ^ change;
              const copy = `${file}-copy`;
              writeFileSync(copy, bytes);
              for (const [index, found] of ask(copy).entries()) {
                if (found === 'damaged') damaged += 1;
                else expect(found).toEqual(expected[index]);
              }
            },
          ),
          { numRuns: 80 },
        );
      },
      shape,
    );
    expect(damaged).toBeGreaterThan(100);
  });

  const exchange = (table: string, key: string, content: string): string[] => [
    `CREATE TEMP TABLE held AS SELECT ${key}, ${content} FROM ${table} ORDER BY ${key}`,
    `UPDATE ${table} SET ${content} = (SELECT held.${content} FROM held
      WHERE held.rowid = (SELECT count(*) + 1 FROM held) - (SELECT h.rowid FROM held AS h WHERE h.${key} = ${table}.${key}))`,
  ];

  it.each([
    ['profiles are in the places of others', exchange('profiles', 'row', 'lead')],
    [
      'profiles are in the places of others, with their checksums',
      [
        'CREATE TEMP TABLE held AS SELECT row, crc, lead FROM profiles',
        `UPDATE profiles SET (crc, lead) = (SELECT crc, lead FROM held WHERE held.row = 399 - profiles.row)`,
      ],
    ],
    ['a profile is empty that nobody erased', ['UPDATE profiles SET lead = NULL WHERE row < 50']],
    ['lists are in the places of others', exchange('lists', 'id', 'data')],
    ['prefixes have the lists of others', exchange('prefixes', 'prefix', 'lists')],
    ['blocks of the dictionary are in the places of others', exchange('dictionary', 'block', 'data')],
    ['first terms are those of other blocks', exchange('dictionary_starts', 'block', 'term')],
    [
      'the end of the dictionary is missing',
      ['DELETE FROM dictionary WHERE block > 3', 'DELETE FROM dictionary_starts WHERE block > 3'],
    ],
  ])('is seen to be damaged where %s', async (_, statements) => {
    const expected = queries.map((query) => reference(query));
    await withSegment(
      leads,
      (_segment, file) => {
        const copy = `${file}-copy`;
        copyFileSync(file, copy);
        const database = new DatabaseSync(copy);
        for (const statement of statements) database.exec(statement);
        database.close();
        const answers = ask(copy);
        expect(answers).toContain('damaged');
        for (const [index, found] of answers.entries())
          if (found !== 'damaged') expect(found).toEqual(expected[index]);
      },
      shape,
    );
  });

  it('reports damage if its end is missing', async () => {
    await withSegment(
      leads,
      (_, file) => {
        const copy = `${file}-copy`;
        copyFileSync(file, copy);
        truncateSync(copy, 8192);
        expect(ask(copy)).toContain('damaged');
      },
      shape,
    );
  });

  it('is refused if it is another file or missing', async () => {
    await withSegment(leads.slice(0, 3), (_, file) => {
      writeFileSync(`${file}-other`, 'not a database, and long enough to be looked at'.repeat(50));
      expect(() => openSegment(`${file}-other`)).toThrow(SegmentDamagedError);
      expect(() => openSegment(`${file}-none`)).toThrow(/unable to open/);
    });
  });
});

describe('erasing profiles', () => {
  it('leaves no trace of their data in the file, and a reader skips them', async () => {
    const secret = 'Only This Person Says Zanzibarquux';
    const some = leads.map((lead, index) => (index === 200 ? { ...lead, full_name: secret } : lead));
    await withSegment(some, (segment, file) => {
      expect(readFileSync(file).includes(secret)).toBe(true);
      const found = segment.find(some[200]?.username ?? '');
      eraseRows(file, [found?.row ?? -1]);
      expect(readFileSync(file).includes(secret)).toBe(false);
      expect(segment.find(some[200]?.username ?? '')).toBeNull();
      expect(segment.search({ query: 'zanzibarquux', limit: 5 }, null)).toEqual([]);
      expect([...segment.scan(null)]).toHaveLength(399);
    });
  });

  it('of many people is visible to readers in steps, and can be resumed', async () => {
    const many = [...generateLeads({ seed: 5, profiles: 5_000 })];
    await withSegment(many, (segment, file) => {
      const left = (): number => [...segment.scan(null)].length;
      const seen: number[] = [];
      function* rows(): Generator<number> {
        for (let row = 0; row < 5_000; row += 1) {
          if (row % 1_000 === 500) seen.push(left());
          if (row === 4_600) throw new Error('stopped by the operator');
          yield row;
        }
      }
      expect(() => eraseRows(file, rows())).toThrow('stopped');
      expect([...seen, left()]).toEqual([5_000, 5_000, 3_000, 3_000, 1_000, 1_000]);
      eraseRows(file, many.keys());
      expect(left()).toBe(0);
    });
  });
});

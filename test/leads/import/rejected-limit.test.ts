import { describe, expect, it } from 'vitest';
import {
  defaultRejectedLimit,
  percentFromRows,
  type RejectedLimit,
} from '../../../src/leads/import/rejected-limit.ts';
import { openLeadInput } from '../../../src/leads/import/open-lead-input.ts';
import { plainDefaults, readText, writeTemporary } from './read-all.ts';

/** Good rows, with bad ones spread evenly among them. */
const rowsOf = (rows: number, rejected: number): string =>
  Array.from({ length: rows }, (_, index) => {
    const isBad = Math.floor((index * rejected) / rows) < Math.floor(((index + 1) * rejected) / rows);
    return isBad ? `user${index},many\n` : `user${index},5\n`;
  }).join('');

const csvOf = (...parts: [rows: number, rejected: number][]): string =>
  `username,followers\n${parts.map(([rows, rejected]) => rowsOf(rows, rejected)).join('')}`;

describe('rejected rows', () => {
  it.each<{ limit?: RejectedLimit; parts: [number, number][]; read: number; says: string }>([
    { parts: [[20, 1]], read: 20, says: '1 of 20 rows were rejected; the limit is 1%. .*: max-rejected 5%.' },
    {
      parts: [[9_999, 100]],
      read: 9_999,
      says: '100 of 9,999 rows were rejected; the limit is 1%. .*: max-rejected 2%.',
    },
    {
      limit: { rows: 0 },
      parts: [[10, 1]],
      read: 10,
      says: '1 of 10 rows were rejected so far; the limit is 0.',
    },
    {
      limit: { rows: 2 },
      parts: [[9_000, 900]],
      read: 1_000,
      says: '100 of 1,000 rows were rejected so far; the limit is 2.',
    },
    // A percentage is judged once there are enough rows, and at the end.
    {
      parts: [[30_000, 600]],
      read: percentFromRows,
      says: '200 of 10,000 rows were rejected so far; the limit is 1%.',
    },
    {
      limit: { percent: 50 },
      parts: [[10, 6]],
      read: 10,
      says: '6 of 10 rows were rejected; the limit is 50%. Nothing was imported.',
    },
  ])('end an import of $parts above $limit', async ({ limit, parts, read, says }) => {
    const file = await writeTemporary('a.csv', csvOf(...parts));
    const input = await openLeadInput({
      files: [file],
      defaults: plainDefaults,
      ...(limit === undefined ? {} : { maxRejected: limit }),
    });
    await expect(Array.fromAsync(input.read({ signal: new AbortController().signal }))).rejects.toMatchObject(
      {
        code: 'too_many_rejected',
        message: expect.stringMatching(`^${says}`),
      },
    );
    expect(input.progress().rows).toBe(read);
  });

  it.each<{ limit: RejectedLimit; parts: [number, number][] }>([
    { limit: defaultRejectedLimit, parts: [[100, 1]] },
    { limit: { rows: 1 }, parts: [[2, 1]] },
    { limit: { percent: 29 }, parts: [[100, 29]] },
    { limit: { percent: 50 }, parts: [[10, 5]] },
    // Bad rows at the beginning are no reason yet.
    {
      limit: { percent: 1 },
      parts: [
        [100, 50],
        [9_890, 0],
      ],
    },
  ])('do not end an import of $parts within $limit', async ({ limit, parts }) => {
    const { leads, rejected } = await readText('a.csv', csvOf(...parts), { maxRejected: limit });
    expect(leads.length + rejected.length).toBe(parts.reduce((sum, [rows]) => sum + rows, 0));
  });

  it.each([
    { rows: 0, says: 'The input has no rows. Nothing was changed.' },
    { rows: 1, says: 'The one row was rejected. Nothing was changed.' },
    { rows: 1_200, says: 'All 1,200 rows were rejected. Nothing was changed.' },
  ])('end an import without a valid row: $says', async ({ rows, says }) => {
    const input = await openLeadInput({ files: [await writeTemporary('a.csv', csvOf([rows, rows]))] });
    const reading = Array.fromAsync(input.read({ signal: new AbortController().signal }));
    await expect(reading).rejects.toMatchObject({ code: 'nothing_imported', message: says });
  });
});

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRejectedReport } from '../../../src/cli/leads/rejected-report.ts';
import {
  createWatchedInput,
  shareFromRows,
  type RejectedLimit,
} from '../../../src/leads/import/watched-input.ts';
import type { Json } from '../../../src/kit/json.ts';
import type { FileLeadInput } from '../../../src/leads/import/input-options.ts';
import type { LeadBatch } from '../../../src/leads/lead-keeper.ts';
import { buildLead } from '../build-lead.ts';
import { temporaryFolder } from '../../cli/run-cli.ts';

type Batch = { taken: number; rejected: number };

/** An input of batches, whose position is the number of batches before it. */
const createInput = (
  batches: readonly Batch[],
  onRejected: (line: number) => void,
  key: string | null = 'key',
): FileLeadInput => {
  let rows = 0;
  let rejected = 0;
  return {
    key,
    progress: () => ({ bytes: 0, totalBytes: null, rows, rejected }),
    resumeEnd: (position) => {
      const before = batches.slice(0, Number(position));
      rows = before.reduce((sum, batch) => sum + batch.taken + batch.rejected, 0);
      rejected = before.reduce((sum, batch) => sum + batch.rejected, 0);
    },
    async *read({ after }) {
      for (const [index, batch] of batches.entries()) {
        rows += batch.taken + batch.rejected;
        rejected += batch.rejected;
        if (index < Number(after ?? 0)) continue;
        for (let count = 0; count < batch.rejected; count += 1) onRejected(rows - count);
        yield { leads: Array.from({ length: batch.taken }, () => buildLead()), position: index + 1 };
      }
    },
  };
};

const open = ({
  batches,
  limit = null,
  named = null,
  key = 'key',
}: {
  batches: readonly Batch[];
  limit?: RejectedLimit | null;
  named?: string | null;
  key?: string | null;
}) => {
  const report = createRejectedReport({ named, input: null, tell: () => {} });
  const onRejected = (line: number): void => report.add({ file: 'a', line, problem: 'p', row: 'r' });
  return {
    report,
    watched: createWatchedInput({ input: createInput(batches, onRejected, key), report, limit }),
  };
};

const readAll = async (
  { watched }: Pick<ReturnType<typeof open>, 'watched'>,
  after: Json | null = null,
): Promise<LeadBatch[]> => {
  const { signal } = new AbortController();
  return Array.fromAsync(watched.read({ after, signal }));
};

describe('an input under watch', () => {
  it('hands batches out as they are, also from a position of its own on', async () => {
    const batches = [
      { taken: 3, rejected: 1 },
      { taken: 2, rejected: 0 },
    ];
    const all = await readAll(open({ batches }));
    expect(all.map(({ leads }) => leads.length)).toEqual([3, 2]);
    const rest = await readAll(open({ batches }), all[0]?.position);
    expect(rest).toEqual([all[1]]);
  });

  it('goes on with its report where it goes on with the rows', async () => {
    const named = join(await temporaryFolder(), 'report.csv');
    const batches = [1, 2, 3].map((rejected) => ({ taken: 1, rejected }));
    const first = open({ batches, named });
    const [, second] = await readAll(first);
    first.report.close({ isOver: false });
    const again = open({ batches, named });
    await readAll(again, second?.position);
    expect(again.report.mark()?.rows).toBe(6);
    again.report.close({ isOver: true });
  });

  it('goes on behind its last batch with its report and its figures, and is judged by them', async () => {
    const named = join(await temporaryFolder(), 'report.csv');
    const batches = [1, 2, 3].map((rejected) => ({ taken: 1, rejected }));
    const first = open({ batches, named });
    const position = (await readAll(first)).at(-1)?.position ?? null;
    first.report.close({ isOver: false });
    const again = open({ batches, named, limit: { rows: 6 } });
    again.watched.resumeEnd?.(position);
    expect(again.report.mark()?.rows).toBe(6);
    expect(again.watched.isRefused?.()).toBe(false);
    again.report.close({ isOver: false });
    const strict = open({ batches, named, limit: { rows: 5 } });
    expect(() => strict.watched.resumeEnd?.(position)).toThrow('6 of 9 rows were rejected');
    expect(strict.watched.isRefused?.()).toBe(true);
    strict.report.close({ isOver: true });
  });

  it('cannot be gone on with where its input cannot, and never with the positions of another form', () => {
    expect(open({ batches: [], key: null }).watched.key).toBeNull();
    expect(open({ batches: [], key: 'files' }).watched.key).toBe('report-2 files');
  });

  it.each<{ limit: RejectedLimit; batches: Batch[]; handedOut: number; says: string }>([
    {
      limit: { rows: 0 },
      batches: [{ taken: 9, rejected: 1 }],
      handedOut: 0,
      says: '1 of 10 rows were rejected so far, more',
    },
    {
      limit: { rows: 2 },
      batches: Array.from({ length: 9 }, () => ({ taken: 9, rejected: 1 })),
      handedOut: 2,
      says: '3 of 30 rows were rejected so far, more',
    },
    // A share is judged once there are enough rows, and at the end.
    {
      limit: { share: 0.01 },
      batches: Array.from({ length: 30 }, () => ({ taken: 980, rejected: 20 })),
      handedOut: shareFromRows / 1_000 - 1,
      says: '200 of 10,000 rows were rejected so far, more',
    },
    {
      limit: { share: 0.5 },
      batches: [{ taken: 4, rejected: 6 }],
      handedOut: 1,
      says: '6 of 10 rows were rejected, more',
    },
  ])('ends the import above $limit', async ({ limit, batches, handedOut, says }) => {
    const { watched } = open({ batches, limit });
    const { signal } = new AbortController();
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { leads } of watched.read({ after: null, signal })) seen.push(leads.length);
    })();
    await expect(reading).rejects.toMatchObject({
      code: 'too_many_rejected',
      message: `${says} than the limit allows. Nothing was imported.`,
    });
    expect([seen.length, watched.isRefused?.()]).toEqual([handedOut, true]);
  });

  it.each<{ limit: RejectedLimit; batches: Batch[] }>([
    { limit: { rows: 1 }, batches: [{ taken: 1, rejected: 1 }] },
    { limit: { share: 0.5 }, batches: [{ taken: 5, rejected: 5 }] },
    // Bad ones at the beginning are no reason yet.
    {
      limit: { share: 0.01 },
      batches: [
        { taken: 50, rejected: 50 },
        { taken: 9_890, rejected: 0 },
      ],
    },
  ])('lets $limit pass', async ({ limit, batches }) => {
    expect(await readAll(open({ batches, limit }))).toHaveLength(batches.length);
  });

  it.each([
    { batches: [], says: 'The input has no rows. Nothing was changed.' },
    { batches: [{ taken: 0, rejected: 1_200 }], says: 'All 1,200 rows were rejected. Nothing was changed.' },
  ])('is an error without a row to take: $says', async ({ batches, says }) => {
    const { watched } = open({ batches });
    await expect(readAll({ watched })).rejects.toMatchObject({ code: 'nothing_imported', message: says });
    expect(watched.isRefused?.()).toBe(true);
  });
});

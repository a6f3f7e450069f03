import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testEngines, type TestStore } from './open-test-store.ts';
import { startWriting } from './writing-process.ts';

const rounds = 3;

describe.each(testEngines())('a process killed while it writes to $kind', ({ create }) => {
  let data: TestStore;
  beforeEach(async () => {
    data = await create();
  });
  afterEach(() => data.remove());

  const idsOf = async (sql: string): Promise<Set<unknown>> =>
    new Set((await data.sql(sql)).map(({ id }) => id));

  it('leaves every acknowledged write, and a correct ledger', async () => {
    const acknowledged: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const child = startWriting(data, 100_000);
      await child.acknowledgedAtLeast(20 + Math.floor(Math.random() * 400));
      child.kill();
      expect(await child.ended).toBeNull();
      acknowledged.push(...child.acknowledged);
      const store = await data.openAnother();
      expect((await store.checkLedger()).problems).toEqual([]);
    }
    const stored = {
      posted: await idsOf('select id from ledger_entries'),
      opened: await idsOf('select id from jobs'),
      finished: await idsOf(
        `select job_id as id from holds h join jobs j on j.id = h.job_id
          where j.status = 'done' and h.captured = 700`,
      ),
    };
    const missing = acknowledged.filter((line) => {
      const [what, id] = line.split(' ');
      return !Object.entries(stored).some(([name, ids]) => name === what && ids.has(id));
    });
    expect(acknowledged.length).toBeGreaterThanOrEqual(20 * rounds);
    expect(missing).toEqual([]);
  });
});

describe.each(testEngines())('processes that share new data on $kind', ({ createPlace }) => {
  it('all start at once, write at once and lose nothing', async () => {
    const data = await createPlace();
    try {
      const children = [startWriting(data, 12), startWriting(data, 12), startWriting(data, 12)];
      expect(await Promise.all(children.map(({ ended }) => ended))).toEqual([0, 0, 0]);
      const store = await data.openAnother();
      expect(await store.checkLedger()).toMatchObject({
        accounts: 3,
        entries: 3 * 16 * 12 * 2,
        openHolds: 0,
        problems: [],
      });
    } finally {
      await data.remove();
    }
  });
});

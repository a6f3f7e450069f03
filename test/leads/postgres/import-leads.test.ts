import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Json } from '../../../src/kit/json.ts';
import type { LeadInput } from '../../../src/leads/lead-keeper.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { buildLead } from '../build-lead.ts';
import { createLeadDatabase, importAll, inputOf, noAbort, type LeadDatabase } from './lead-database.ts';
import { hasService } from '../../outside-services.ts';

const people = (count: number): Lead[] =>
  Array.from({ length: count }, (_, index) => buildLead({ username: `person${index}` }));

/** Three profiles, then `after` in place of more. */
const endingIn = (after: () => void, rest: Partial<LeadInput> = {}): LeadInput => ({
  key: 'file',
  ...rest,
  async *read() {
    yield { leads: people(3), position: 'three' };
    after();
    yield { leads: [], position: 'end' };
  },
});

const fail = (): void => {
  throw new Error('cut off');
};

describe.runIf(hasService('PostgreSQL'))('an import into PostgreSQL', () => {
  let database: LeadDatabase;
  beforeEach(() => {
    database = createLeadDatabase();
  });
  afterEach(() => database.remove());

  it('does not give an unfinished one up for an input that cannot be read', async () => {
    const keeper = await database.openKeeper({ stageRows: 1 });
    await expect(importAll(keeper, [], { input: endingIn(fail) })).rejects.toThrow('cut off');
    const unreadable = {
      key: 'other',
      isRefused: () => true,
      read: () => {
        throw new Error('no column');
      },
    };
    await expect(importAll(keeper, [], { input: unreadable })).rejects.toThrow('no column');
    expect((await keeper.stats()).unfinished).toMatchObject({ rows: 3 });
    expect(await importAll(keeper, people(1))).toMatchObject({ rows: 1, profiles: 1 });
    expect((await keeper.stats()).unfinished).toBeNull();
  });

  it('hands its last position to an input that is not read again, and ends with what that throws', async () => {
    const keeper = await database.openKeeper({ stageRows: 1 });
    const aborting = new AbortController();
    const stopped = importAll(keeper, [], {
      input: endingIn(() => {}),
      signal: aborting.signal,
      onProgress: ({ phase }) => {
        if (phase === 'indexing') aborting.abort(new Error('stopped'));
      },
    });
    await expect(stopped).rejects.toThrow('stopped');
    const positions: Json[] = [];
    const resumeEnd = (position: Json): void => {
      positions.push(position);
      fail();
    };
    const input = { ...inputOf([], { key: 'file' }), resumeEnd };
    await expect(importAll(keeper, [], { input })).rejects.toThrow('cut off');
    // Also that of a batch without profiles.
    expect([positions, (await keeper.stats()).unfinished]).toEqual([
      ['end'],
      expect.objectContaining({ rows: 3 }),
    ]);
    const refused = { ...input, isRefused: () => true };
    await expect(importAll(keeper, [], { input: refused })).rejects.toThrow('cut off');
    expect((await keeper.stats()).unfinished).toBeNull();
  });

  it('that is refused leaves nothing behind', async () => {
    const keeper = await database.openKeeper({ stageRows: 1 });
    const input = endingIn(fail, { isRefused: () => true });
    await expect(importAll(keeper, [], { input })).rejects.toThrow('cut off');
    expect((await keeper.stats()).unfinished).toBeNull();
    await keeper.forget(['nobody'], { signal: noAbort() });
    expect(await keeper.stats()).toMatchObject({ profiles: 0 });
  });
});

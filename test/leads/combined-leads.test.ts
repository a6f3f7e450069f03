import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/kit/errors.ts';
import { createCombinedLeads, type CombinedSource } from '../../src/leads/combined-leads.ts';
import { InconclusiveError } from '../../src/leads/search-errors.ts';
import type { Lead, LeadSource, LeadStatus } from '../../src/leads/lead-source.ts';
import { silentLog } from '../../src/kit/log.ts';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { buildLead } from './build-lead.ts';

type Answer = (signal: AbortSignal) => Promise<Lead[]>;

/** A source that answers as it is told and counts how often it is asked. */
const createFake = (name: string, answer: Answer, status: Partial<LeadStatus> = {}) => {
  const state: LeadStatus = { ready: true, synthetic: false, profiles: 1, revision: `${name}-1`, ...status };
  const fake = { name, asked: 0, isClosed: false, answer, state };
  const source: LeadSource = {
    search: (_query, { signal }) => {
      fake.asked += 1;
      return fake.answer(signal);
    },
    status: () => fake.state,
    close: async () => {
      fake.isClosed = true;
    },
  };
  return Object.assign(fake, { source });
};

const page = [buildLead()];
const answers: Answer = async () => page;
const fails: Answer = async () => {
  throw new AppError('upstream_error', 'inner text', { retryAfterSeconds: 3 });
};
const hangs: Answer = () => new Promise(() => undefined);
const hangsUntilAborted: Answer = (signal) =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });

interface Setup {
  timeoutMs?: number;
  sourceMs?: number;
  log?: typeof silentLog;
  nowMs?: () => number;
}

const combine = (
  fakes: readonly (Omit<CombinedSource, 'timeoutMs'> & { timeoutMs?: number })[],
  { timeoutMs = 5_000, sourceMs = 5_000, log = silentLog, nowMs }: Setup = {},
): LeadSource =>
  createCombinedLeads({
    sources: fakes.map(({ name, source, timeoutMs: ownMs }) => ({
      name,
      source,
      timeoutMs: ownMs ?? sourceMs,
    })),
    timeoutMs,
    log,
    ...(nowMs === undefined ? {} : { nowMs }),
  });

const search = (leads: LeadSource, signal = new AbortController().signal): Promise<Lead[]> =>
  leads.search({ limit: 5 }, { signal });

describe('several lead sources', () => {
  it('are asked in their order, and the first answer wins', async () => {
    const [first, second] = [createFake('first', answers), createFake('second', fails)];
    expect(await search(combine([first, second]))).toEqual(page);
    expect([first.asked, second.asked]).toEqual([1, 0]);
  });

  it('are not asked by a free search where each search may cost money', async () => {
    const own = createFake('own', fails);
    const paid = createFake('paid', answers, { profiles: null });
    const { signal } = new AbortController();
    const found = combine([own, paid]).search({ limit: 5 }, { signal, isFree: true });
    await expect(found).rejects.toMatchObject({ code: 'upstream_error' });
    expect([own.asked, paid.asked]).toEqual([1, 0]);
  });

  it('are asked by a free search where only the service knows its profiles, and each search costs nothing', async () => {
    const free = createFake('free', answers, { profiles: null, countsFree: true });
    const leads = combine([free]);
    const { signal } = new AbortController();
    expect(await leads.search({ limit: 5 }, { signal, isFree: true })).toEqual(page);
    expect(leads.status()).toMatchObject({ profiles: null, countsFree: true });
  });

  it('take an empty answer for an answer', async () => {
    const [first, second] = [createFake('first', async () => []), createFake('second', answers)];
    expect(await search(combine([first, second]))).toEqual([]);
    expect(second.asked).toBe(0);
  });

  it('stand in for one that fails, with a fault of its own too', async () => {
    const faulty: Answer = async () => {
      throw new TypeError('a bug');
    };
    const fakes = [createFake('a', fails), createFake('b', faulty), createFake('c', answers)];
    expect(await search(combine(fakes))).toEqual(page);
    expect(fakes.map(({ asked }) => asked)).toEqual([1, 1, 1]);
  });

  it('stand in for one that is late, which is told to end', async () => {
    let ended: unknown = null;
    const late = createFake('late', (signal) => {
      signal.addEventListener('abort', () => {
        ended = signal.reason;
      });
      return hangs(signal);
    });
    expect(await search(combine([late, createFake('second', answers)], { sourceMs: 20 }))).toEqual(page);
    expect(ended).toMatchObject({ message: 'no answer within 20 ms' });
  });

  it('stand in for one that is not ready, which is not asked', async () => {
    const first = createFake('first', answers, { ready: false });
    expect(await search(combine([first, createFake('second', async () => [])]))).toEqual([]);
    expect(first.asked).toBe(0);
  });

  it('stand in for one without profiles, which is not asked', async () => {
    const first = createFake('first', answers, { profiles: 0 });
    expect(await search(combine([first, createFake('second', async () => [])]))).toEqual([]);
    await expect(search(combine([first, createFake('second', fails)]))).rejects.toMatchObject({
      status: 502,
    });
    expect(first.asked).toBe(0);
  });

  it('find nobody where none of them has profiles', async () => {
    const leads = combine([
      createFake('first', fails, { profiles: 0 }),
      createFake('second', fails, { profiles: 0 }),
    ]);
    expect(await search(leads)).toEqual([]);
    expect(leads.status()).toMatchObject({ ready: true, profiles: 0 });
  });

  it('never let generated profiles stand in for real ones', async () => {
    const generated = createFake('generated', answers, { synthetic: true });
    const leads = combine([createFake('real', fails), generated]);
    await expect(search(leads)).rejects.toMatchObject({ code: 'upstream_error' });
    expect(generated.asked).toBe(0);
    expect(leads.status().synthetic).toBe(false);
  });

  it('serve generated profiles where there is no other source', async () => {
    const leads = combine([createFake('generated', answers, { synthetic: true })]);
    expect(await search(leads)).toEqual(page);
    expect(leads.status()).toMatchObject({ ready: true, synthetic: true });
  });

  it('answer 502 with a time to wait when none answers, and the log alone has the causes', async () => {
    const { log, lines } = createRecordedLog();
    const leads = combine([createFake('one', fails), createFake('two', fails)], { log });
    const error: unknown = await search(leads).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'upstream_error', status: 502, retryAfterSeconds: 3 });
    expect(String(error)).not.toContain('inner text');
    expect(lines).toEqual([
      expect.objectContaining({ source: 'one', err: expect.objectContaining({ message: 'inner text' }) }),
      expect.objectContaining({ source: 'two', err: expect.objectContaining({ message: 'inner text' }) }),
    ]);
  });

  it('end within the time for all of them together', async () => {
    let now = 0;
    const late: Answer = async () => {
      now += 1_000;
      throw new Error('late');
    };
    const fakes = ['a', 'b', 'c'].map((name) => createFake(name, late));
    const leads = combine(fakes, { timeoutMs: 1_500, sourceMs: 60_000, nowMs: () => now });
    await expect(search(leads)).rejects.toMatchObject({ status: 502 });
    expect(fakes.map(({ asked }) => asked)).toEqual([1, 1, 0]);
  });

  it('are all closed', async () => {
    const fakes = [createFake('a', answers), createFake('b', answers)];
    await combine(fakes).close();
    expect(fakes.map(({ isClosed }) => isClosed)).toEqual([true, true]);
  });
});

describe('a source that fails again and again', () => {
  const failTimes = async (leads: LeadSource, times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) await search(leads).catch(() => undefined);
  };

  it('is left alone after five failures, tried once after ten seconds, and used again when it answers', async () => {
    let now = 1_000;
    const first = createFake('first', fails);
    const leads = combine([first, createFake('second', answers)], { nowMs: () => now });
    await failTimes(leads, 8);
    expect(first.asked).toBe(5);
    now += 9_999;
    await failTimes(leads, 1);
    expect(first.asked).toBe(5);
    now += 1;
    await failTimes(leads, 3);
    expect(first.asked).toBe(6);
    now += 10_000;
    first.answer = async () => [];
    expect(await search(leads)).toEqual([]);
    expect(await search(leads)).toEqual([]);
    expect(first.asked).toBe(8);
  });

  it('is told of in the log once a minute', async () => {
    let now = 1_000;
    const { log, lines } = createRecordedLog();
    const leads = combine([createFake('first', fails), createFake('second', answers)], {
      log,
      nowMs: () => now,
    });
    await failTimes(leads, 4);
    now += 60_000;
    await failTimes(leads, 1);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatchObject({ source: 'first', leftOut: 3 });
  });

  it('is not blamed for searchers who go away', async () => {
    const first = createFake('first', hangsUntilAborted);
    const second = createFake('second', answers);
    const leads = combine([first, second]);
    for (let time = 0; time < 8; time += 1) {
      const leaver = new AbortController();
      const searching = search(leads, leaver.signal);
      leaver.abort(new Error('gone'));
      await expect(searching).rejects.toThrow('gone');
    }
    expect([first.asked, second.asked]).toEqual([8, 0]);
  });

  it('is blamed for being late where it had nearly all of its time, by a real clock too', async () => {
    const late = createFake('late', hangsUntilAborted);
    await failTimes(combine([late], { timeoutMs: 100, sourceMs: 100 }), 8);
    expect(late.asked).toBe(5);
  });

  it('is not blamed for an answer that tells nothing of one search', async () => {
    const unsure = createFake('unsure', async () => {
      throw new InconclusiveError({ message: 'leave it out', cause: 'x' });
    });
    const leads = combine([createFake('away', fails), unsure]);
    for (let time = 0; time < 8; time += 1)
      await expect(search(leads)).rejects.toMatchObject({ status: 502, message: 'leave it out' });
    expect(unsure.asked).toBe(8);
  });

  it('is not praised for a search that it was not asked', async () => {
    const first = createFake('first', fails);
    const leads = combine([first, createFake('second', answers)]);
    const known: Answer = async () => {
      throw new InconclusiveError({ cause: 'known before', wasAsked: false });
    };
    for (let round = 0; round < 5; round += 1) {
      first.answer = known;
      await failTimes(leads, 1);
      first.answer = fails;
      await failTimes(leads, 1);
    }
    const { asked } = first;
    await failTimes(leads, 3);
    expect(first.asked).toBe(asked);
  });

  it('is tried again by the next searcher when the one who tried goes away', async () => {
    let now = 0;
    const first = createFake('first', fails);
    const leads = combine([first], { nowMs: () => now });
    await failTimes(leads, 5);
    now += 10_000;
    first.answer = hangsUntilAborted;
    const leaver = new AbortController();
    const leaving = search(leads, leaver.signal);
    leaver.abort(new Error('gone'));
    await expect(leaving).rejects.toThrow('gone');
    first.answer = answers;
    expect(await search(leads)).toEqual(page);
  });

  it('is not blamed for the time that others took', async () => {
    let now = 0;
    const slow = createFake('slow', async () => {
      now += 990;
      throw new Error('late');
    });
    const second = createFake('second', hangsUntilAborted);
    const leads = combine([slow, second], { timeoutMs: 1_000, sourceMs: 1_000, nowMs: () => now });
    await failTimes(leads, 5);
    slow.answer = fails;
    second.answer = answers;
    expect(await search(leads)).toEqual(page);
  });
});

describe('the state of several lead sources', () => {
  it('is ready as soon as one of them is, and counts the profiles of the one that would answer', () => {
    const first = createFake('first', answers, { ready: false, profiles: 7 });
    const second = createFake('second', answers, { profiles: null });
    const leads = combine([first, second]);
    expect(leads.status()).toMatchObject({ ready: true, profiles: null, synthetic: false });
    first.state = { ...first.state, ready: true };
    expect(leads.status()).toMatchObject({ ready: true, profiles: 7 });
    first.state = { ...first.state, ready: false };
    second.state = { ...second.state, ready: false };
    expect(leads.status()).toMatchObject({ ready: false, profiles: 0 });
  });

  it('is another revision while one of them is away, whose pages are not given out then', () => {
    const fake = createFake('a', answers);
    const leads = combine([fake]);
    const before = leads.status().revision;
    fake.state = { ...fake.state, ready: false };
    expect(leads.status().revision).not.toBe(before);
    fake.state = { ...fake.state, ready: true };
    expect(leads.status().revision).toBe(before);
  });

  it('is another revision as soon as one of them has another', () => {
    const fakes = [createFake('a', answers), createFake('b', answers)];
    const leads = combine(fakes);
    const before = leads.status().revision;
    fakes[1]!.state = { ...fakes[1]!.state, revision: 'b-2' };
    expect(leads.status().revision).not.toBe(before);
  });
});

import { describe, expect, it } from 'vitest';
import { ThreadError } from '../../src/kit/threads/thread-error.ts';
import type { Lead } from '../../src/leads/lead-source.ts';
import { createSearchLine, type SearchLineOptions } from '../../src/leads/search-line.ts';
import { buildLead } from './build-lead.ts';

const signal = new AbortController().signal;
const query = { limit: 1 };
const leads = [buildLead()];
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A line before a thread that answers when it is told to. */
const createLine = (options: Partial<SearchLineOptions> = {}) => {
  const calls: (PromiseWithResolvers<Lead[]> & { signal: AbortSignal | undefined })[] = [];
  const search = createSearchLine({
    thread: {
      call: (_, signal) => {
        const call = Promise.withResolvers<Lead[]>();
        calls.push({ ...call, signal });
        return call.promise;
      },
    },
    maxWaiting: 2,
    timeoutMs: 60_000,
    ...options,
  });
  return { search, calls };
};

describe('the line of searches', () => {
  it('hands over one at a time, in the order of arrival', async () => {
    const { search, calls } = createLine();
    const first = search(query, signal);
    const second = search(query, signal);
    await turn();
    expect(calls).toHaveLength(1);
    calls[0]!.resolve(leads);
    expect(await first).toEqual(leads);
    await turn();
    expect(calls).toHaveLength(2);
    calls[1]!.resolve([]);
    expect(await second).toEqual([]);
  });

  it('goes on after a search that failed, and tells nobody why', async () => {
    const { search, calls } = createLine();
    const [first, second] = [search(query, signal), search(query, signal)];
    await turn();
    calls[0]!.reject(new ThreadError('failed', 'secret detail'));
    const error: unknown = await first.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'upstream_error', message: expect.stringMatching(/failed/) });
    expect(String(error)).not.toContain('secret');
    await turn();
    calls[1]!.resolve(leads);
    expect(await second).toEqual(leads);
  });

  it('refuses what would wait beyond its length, and takes more when there is room again', async () => {
    const { search, calls } = createLine();
    const taken = [1, 2, 3].map(() => search(query, signal));
    await expect(search(query, signal)).rejects.toMatchObject({
      code: 'upstream_error',
      status: 502,
      retryAfterSeconds: 1,
      message: expect.stringMatching(/Too many/),
    });
    calls[0]!.resolve(leads);
    expect(await taken[0]).toEqual(leads);
    const late = search(query, signal);
    for (const place of [1, 2, 3]) {
      await turn();
      calls[place]!.resolve(leads);
    }
    expect(await Promise.all([...taken, late])).toHaveLength(4);
  });

  it('lets an aborted search go at once: one that waits is never run, one that runs is aborted', async () => {
    const { search, calls } = createLine();
    const aborting = new AbortController();
    const [running, waiting] = [1, 2].map(() => search(query, aborting.signal));
    const last = search(query, signal);
    await turn();
    aborting.abort(new Error('the client went away'));
    await expect(running).rejects.toThrow('the client went away');
    await expect(waiting).rejects.toThrow('the client went away');
    expect(calls).toHaveLength(1);
    expect(calls[0]!.signal?.aborted).toBe(true);
    // Its slot stays taken until its outcome comes, which is dropped.
    await turn();
    expect(calls).toHaveLength(1);
    calls[0]!.resolve(leads);
    await turn();
    expect(calls).toHaveLength(2);
    expect(calls[1]!.signal?.aborted).toBe(false);
    calls[1]!.resolve([]);
    expect(await last).toEqual([]);
  });

  it('never runs a search whose signal is aborted already', async () => {
    const { search, calls } = createLine();
    await expect(search(query, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(calls).toEqual([]);
  });

  it('refuses a search after its time, be it running or waiting, and aborts the running one', async () => {
    const { search, calls } = createLine({ timeoutMs: 5 });
    const outcomes = await Promise.allSettled([search(query, signal), search(query, signal)]);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { code: 'upstream_error', message: expect.stringMatching(/too long/) },
      });
    expect(calls.map(({ signal }) => signal?.aborted)).toEqual([true]);
  });

  it('refuses everything in line when the thread is lost', async () => {
    const lost = new ThreadError('crashed', 'it is over');
    const { search } = createLine({ thread: { call: () => Promise.reject(lost) } });
    for (const outcome of await Promise.allSettled([search(query, signal), search(query, signal)]))
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { code: 'upstream_error', message: expect.stringMatching(/interrupted/), cause: lost },
      });
  });
});

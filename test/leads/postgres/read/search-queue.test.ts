import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/kit/errors.ts';
import { createSearchQueue, type SearchQueueOptions } from '../../../../src/leads/search-queue.ts';
import { buildLead } from '../../build-lead.ts';

const signal = new AbortController().signal;
const query = { limit: 1 };
const leads = [buildLead()];

const createQueue = (options: Partial<SearchQueueOptions> = {}) => {
  const run: number[] = [];
  const abandoned: number[] = [];
  const queue = createSearchQueue({
    maxRunning: 2,
    maxSearches: 4,
    timeoutMs: 60_000,
    run: (id) => run.push(id),
    abandon: (id) => abandoned.push(id),
    ...options,
  });
  return { queue, run, abandoned };
};

describe('the line of searches in PostgreSQL', () => {
  it('hands over some at once, in the order of arrival, and the next when one of them is over', async () => {
    const { queue, run } = createQueue();
    const searches = [1, 2, 3].map(() => queue.add(query, signal));
    expect(run).toHaveLength(2);
    queue.settle(run[1] ?? 0, { leads });
    expect(await searches[1]).toEqual(leads);
    expect(run).toHaveLength(3);
    queue.settle(run[2] ?? 0, { leads: [] });
    queue.settle(run[0] ?? 0, { cause: new Error('broken') });
    expect(await searches[2]).toEqual([]);
    await expect(searches[0]).rejects.toThrow('broken');
  });

  it('refuses what is beyond its length, and takes more when there is room again', async () => {
    const { queue, run } = createQueue();
    const taken = [1, 2, 3, 4].map(() => queue.add(query, signal));
    await expect(queue.add(query, signal)).rejects.toMatchObject({
      status: 502,
      retryAfterSeconds: 1,
      message: expect.stringMatching(/Too many/),
    });
    queue.settle(run[0] ?? 0, { leads });
    const late = queue.add(query, signal);
    for (const place of [1, 2, 3, 4]) queue.settle(run[place] ?? 0, { leads });
    expect(await Promise.all([...taken, late])).toHaveLength(5);
  });

  it('lets an aborted search go at once: one that waits is never run, one that runs is abandoned', async () => {
    const { queue, run, abandoned } = createQueue({ maxRunning: 1 });
    const aborting = new AbortController();
    const [running, waiting] = [1, 2].map(() => queue.add(query, aborting.signal));
    const last = queue.add(query, signal);
    aborting.abort(new Error('the client went away'));
    await expect(running).rejects.toThrow('the client went away');
    await expect(waiting).rejects.toThrow('the client went away');
    expect(abandoned).toEqual(run);
    expect(run).toHaveLength(1);
    // Its place stays taken until its outcome comes.
    queue.settle(run[0] ?? 0, { leads });
    expect(run).toHaveLength(2);
    queue.settle(run[1] ?? 0, { leads });
    expect(await last).toEqual(leads);
  });

  it('refuses a search after its time, be it running or waiting, and abandons the running one', async () => {
    const { queue, run, abandoned } = createQueue({ maxRunning: 1, timeoutMs: 5 });
    const outcomes = await Promise.allSettled([queue.add(query, signal), queue.add(query, signal)]);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ reason: { code: 'upstream_error', message: /too long/ } });
    expect(abandoned).toEqual(run);
  });

  it('never runs a search whose signal is aborted already', async () => {
    const { queue, run } = createQueue();
    await expect(queue.add(query, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(run).toEqual([]);
  });

  it('refuses everything in line when told to', async () => {
    const { queue } = createQueue({ maxRunning: 1 });
    const all = [queue.add(query, signal), queue.add(query, signal)];
    const error = new AppError('upstream_error', 'It is over.');
    queue.refuseAll(error);
    for (const outcome of await Promise.allSettled(all))
      expect(outcome).toEqual({ status: 'rejected', reason: error });
  });
});

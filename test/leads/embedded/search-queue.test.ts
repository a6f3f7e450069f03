import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import { createSearchQueue } from '../../../src/leads/search-queue.ts';
import { buildLead } from '../build-lead.ts';

const signal = new AbortController().signal;
const query = { limit: 1 };
const leads = [buildLead()];

const createQueue = ({ maxWaiting = 2, ...options }: { maxWaiting?: number; timeoutMs?: number } = {}) => {
  const handedOver: number[] = [];
  const queue = createSearchQueue({
    maxRunning: 1,
    maxSearches: maxWaiting + 1,
    timeoutMs: 60_000,
    ...options,
    run: (id) => handedOver.push(id),
    abandon: () => undefined,
  });
  return { queue, handedOver };
};

describe('the search queue', () => {
  it('runs one search at a time, in the order of arrival', async () => {
    const { queue, handedOver } = createQueue();
    const first = queue.add(query, signal);
    const second = queue.add(query, signal);
    expect(handedOver).toHaveLength(1);
    queue.settle(handedOver[0]!, { leads });
    expect(await first).toEqual(leads);
    expect(handedOver).toHaveLength(2);
    queue.settle(handedOver[1]!, { leads: [] });
    expect(await second).toEqual([]);
  });

  it('refuses searches beyond its length, and accepts more when there is room again', async () => {
    const { queue, handedOver } = createQueue();
    const taken = [1, 2, 3].map(() => queue.add(query, signal));
    await expect(queue.add(query, signal)).rejects.toMatchObject({
      code: 'upstream_error',
      status: 502,
      retryAfterSeconds: 1,
    });
    queue.settle(handedOver[0]!, { leads });
    expect(await taken[0]).toEqual(leads);
    const late = queue.add(query, signal);
    for (const place of [1, 2, 3]) queue.settle(handedOver[place]!, { leads });
    expect(await Promise.all([...taken, late])).toHaveLength(4);
  });

  it('rejects an aborted search at once, and never runs a waiting one', async () => {
    const { queue, handedOver } = createQueue();
    const running = queue.add(query, signal);
    const abort = new AbortController();
    const waiting = queue.add(query, abort.signal);
    const last = queue.add(query, signal);
    abort.abort(new Error('the client went away'));
    await expect(waiting).rejects.toThrow('the client went away');
    queue.settle(handedOver[0]!, { leads });
    queue.settle(handedOver[1]!, { leads });
    await Promise.all([running, last]);
    expect(handedOver).toHaveLength(2);
  });

  it('keeps the slot of an aborted running search until its outcome arrives, and ignores the outcome', async () => {
    const { queue, handedOver } = createQueue();
    const abort = new AbortController();
    const running = queue.add(query, abort.signal);
    const next = queue.add(query, signal);
    abort.abort(new Error('the client went away'));
    await expect(running).rejects.toThrow('the client went away');
    expect(handedOver).toHaveLength(1);
    queue.settle(handedOver[0]!, { leads });
    queue.settle(handedOver[1]!, { leads: [] });
    expect(await next).toEqual([]);
  });

  it('never runs a search whose signal is already aborted', async () => {
    const { queue, handedOver } = createQueue();
    await expect(queue.add(query, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(handedOver).toEqual([]);
  });

  it('refuses a running or waiting search after its time limit', async () => {
    const { queue } = createQueue({ timeoutMs: 5 });
    const outcomes = await Promise.allSettled([queue.add(query, signal), queue.add(query, signal)]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'upstream_error' } });
    }
  });

  it('refuses all waiting searches on request', async () => {
    const { queue } = createQueue();
    const all = [queue.add(query, signal), queue.add(query, signal)];
    const error = new AppError('upstream_error', 'It is over.');
    queue.refuseAll(error);
    for (const outcome of await Promise.allSettled(all)) {
      expect(outcome).toEqual({ status: 'rejected', reason: error });
    }
  });
});

import { describe, expect, it } from 'vitest';
import { createJobFeed } from '../../src/jobs/job-feed.ts';

const never = new AbortController().signal;

const readAll = async (events: AsyncIterable<number>): Promise<number[]> => Array.fromAsync(events);

describe('a job feed', () => {
  it('gives every reader every event, even if it starts late', async () => {
    const feed = createJobFeed<number>();
    const early = readAll(feed.read(never));
    feed.emit(1);
    feed.emit(2);
    const late = readAll(feed.read(never));
    await Promise.resolve();
    feed.emit(3);
    feed.end();
    expect(await early).toEqual([1, 2, 3]);
    expect(await late).toEqual([1, 2, 3]);
  });

  it('ends a reader when its signal aborts; the others continue', async () => {
    const feed = createJobFeed<number>();
    const leaving = new AbortController();
    const left = readAll(feed.read(leaving.signal));
    const staying = readAll(feed.read(never));
    feed.emit(1);
    await new Promise((resolve) => setImmediate(resolve));
    leaving.abort();
    expect(await left).toEqual([1]);
    feed.emit(2);
    feed.end();
    expect(await staying).toEqual([1, 2]);
  });

  it('has started at the first event, at the end, or when the time is over', async () => {
    const spoken = createJobFeed<number>();
    const started = spoken.started(60_000);
    spoken.emit(1);
    const silent = createJobFeed<number>();
    const ended = silent.started(60_000);
    silent.end();
    const overdue = createJobFeed<number>().started(1);
    expect(await Promise.all([started, ended, overdue])).toHaveLength(3);
  });
});

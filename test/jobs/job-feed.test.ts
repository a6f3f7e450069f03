import { describe, expect, it } from 'vitest';
import { createJobFeed, type JobFeed } from '../../src/jobs/job-feed.ts';

const never = new AbortController().signal;

const readAll = async (feed: JobFeed<number>, signal = never): Promise<number[]> => {
  const all: number[] = [];
  await feed.read(signal, (events) => void all.push(...events));
  return all;
};

describe('a job feed', () => {
  it('gives every reader every event, even if it starts late', async () => {
    const feed = createJobFeed<number>();
    const early = readAll(feed);
    feed.emit(1);
    feed.emit(2);
    const late = readAll(feed);
    await Promise.resolve();
    feed.emit(3);
    feed.end();
    expect(await early).toEqual([1, 2, 3]);
    expect(await late).toEqual([1, 2, 3]);
  });

  it('ends a reader when its signal aborts; the others continue', async () => {
    const feed = createJobFeed<number>();
    const leaving = new AbortController();
    const left = readAll(feed, leaving.signal);
    const staying = readAll(feed);
    feed.emit(1);
    await new Promise((resolve) => setImmediate(resolve));
    leaving.abort();
    expect(await left).toEqual([1]);
    feed.emit(2);
    feed.end();
    expect(await staying).toEqual([1, 2]);
  });

  it('hands over together what was emitted in one turn', async () => {
    const feed = createJobFeed<number>();
    const turns: number[][] = [];
    const read = feed.read(never, (events) => void turns.push(events));
    for (const event of [1, 2, 3]) feed.emit(event);
    await new Promise((resolve) => setImmediate(resolve));
    feed.emit(4);
    feed.end();
    await read;
    expect(turns).toEqual([[1, 2, 3], [4]]);
  });

  it('waits for a slow reader, and hands it all that came meanwhile', async () => {
    const feed = createJobFeed<number>();
    const ready = Promise.withResolvers<void>();
    const turns: number[][] = [];
    const read = feed.read(never, (events) => {
      turns.push(events);
      return ready.promise;
    });
    for (const event of [1, 2, 3]) {
      feed.emit(event);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(turns).toEqual([[1]]);
    feed.end();
    ready.resolve();
    await read;
    expect(turns).toEqual([[1], [2, 3]]);
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

it('hands over a long backlog in parts, each when the reader has room', async () => {
  const feed = createJobFeed<number>();
  for (let n = 0; n < 10_000; n += 1) feed.emit(n);
  feed.end();
  const sizes: number[] = [];
  await feed.read(never, async (events) => void sizes.push(events.length));
  expect(sizes.reduce((sum, size) => sum + size)).toBe(10_000);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(256);
});

it('is not woken for its start by another reader', async () => {
  const feed = createJobFeed<number>();
  let hasStarted = false;
  void feed.started(60_000).then(() => (hasStarted = true));
  await feed.started(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasStarted).toBe(false);
  feed.end();
});

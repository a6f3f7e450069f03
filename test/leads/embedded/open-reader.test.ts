import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import {
  IndexDamagedError,
  openReader,
  type OpenReaderInput,
  type ReaderLimits,
} from '../../../src/leads/embedded/read/open-reader.ts';

const limits: ReaderLimits = {
  maxWaiting: 3,
  searchTimeoutMs: 60_000,
  stuckAfterMs: 60_000,
  openTimeoutMs: 60_000,
};
const signal = new AbortController().signal;
const query = { limit: 1 };

const opened = `const { parentPort } = require('node:worker_threads');
  const served = { generation: 'first', synthetic: true, profiles: 7, isFoldedAlike: true };
  const tell = (event) => parentPort.postMessage({ event });
  const onCalls = (act) => parentPort.on('message', ({ calls }) => {
    for (const call of calls ?? []) act(call);
  });
  tell({ kind: 'serving', served });`;
/** Threads that behave as a real one does in its bad moments. */
const threads = {
  silent: `${opened} parentPort.on('message', () => {});`,
  throwing: `${opened} parentPort.on('message', () => { throw new Error('out of order'); });`,
  exiting: `${opened} parentPort.on('message', () => process.exit(3));`,
  finding: `${opened} onCalls(() => tell({ kind: 'damaged', cause: 'malformed' }));`,
  failing: `${opened} onCalls(({ id }) =>
    parentPort.postMessage({ answers: [{ id, failure: 'secret detail' }] }));`,
  switching: `${opened} onCalls(({ id }) => {
    tell({ kind: 'not-switched', cause: 'malformed' });
    tell({ kind: 'serving', served: { ...served, generation: 'second', profiles: 8 } });
    parentPort.postMessage({ answers: [{ id, output: [] }] });
  });`,
  empty: `require('node:worker_threads').parentPort.postMessage({ event: { kind: 'damaged', cause: 'malformed' } });`,
  unopened: `require('node:worker_threads').parentPort.on('message', () => {});`,
};

const open = (
  thread: keyof typeof threads,
  { changed = {}, ...told }: { changed?: Partial<ReaderLimits> } & Partial<OpenReaderInput> = {},
) =>
  openReader({
    folder: 'unused',
    limits: { ...limits, ...changed },
    ...told,
    startWorker: () => new Worker(threads[thread], { eval: true }),
  });

describe('a reader', () => {
  it.each(['throwing', 'exiting'] as const)(
    'refuses all its searches when its thread is lost (%s)',
    async (thread) => {
      const reader = await open(thread);
      const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => reader.search(query, signal)));
      for (const outcome of outcomes) {
        expect(outcome).toMatchObject({
          status: 'rejected',
          reason: { code: 'upstream_error', retryAfterSeconds: 1 },
        });
      }
      expect(await reader.ended).toMatchObject({ kind: 'crashed' });
      await expect(reader.search(query, signal)).rejects.toMatchObject({ code: 'upstream_error' });
    },
  );

  it('ends as damaged when its thread finds the file damaged', async () => {
    const reader = await open('finding');
    await expect(reader.search(query, signal)).rejects.toMatchObject({ code: 'upstream_error' });
    expect(await reader.ended).toMatchObject({ kind: 'damaged' });
  });

  it('does not open damaged files', async () => {
    await expect(open('empty')).rejects.toThrow(IndexDamagedError);
  });

  it('reports a new generation before its first answer, and one that cannot be opened', async () => {
    const told: unknown[] = [];
    const reader = await open('switching', {
      onSwitched: ({ generation }) => told.push(generation),
      onNotSwitched: (cause) => told.push(cause.message),
    });
    expect(reader.served).toMatchObject({ generation: 'first', profiles: 7 });
    await reader.search(query, signal);
    expect(reader.served).toMatchObject({ generation: 'second', profiles: 8 });
    expect(told).toEqual(['malformed', 'second']);
    await reader.close();
  });

  it('abandons a thread that does not end a search', async () => {
    const reader = await open('silent', { changed: { stuckAfterMs: 5 } });
    await expect(reader.search(query, signal)).rejects.toMatchObject({ code: 'upstream_error' });
    expect(await reader.ended).toMatchObject({ kind: 'crashed' });
  });

  it('abandons a thread that does not open the index', async () => {
    await expect(open('unopened', { changed: { openTimeoutMs: 5 } })).rejects.toThrow('did not open in time');
  });

  it('refuses searches beyond its limit of waiting ones', async () => {
    const reader = await open('silent');
    const taken = Promise.allSettled([1, 2, 3, 4].map(() => reader.search(query, signal)));
    await expect(reader.search(query, signal)).rejects.toMatchObject({
      message: expect.stringContaining('Too many searches'),
    });
    await reader.close();
    expect((await taken).every(({ status }) => status === 'rejected')).toBe(true);
    expect(await reader.ended).toEqual({ kind: 'closed' });
  });

  it('continues after a failed search, and does not reveal the cause', async () => {
    const reader = await open('failing');
    for (const attempt of [1, 2]) {
      const error: unknown = await reader.search(query, signal).catch((thrown: unknown) => thrown);
      expect(error, `attempt ${attempt}`).toMatchObject({ code: 'upstream_error' });
      expect(String(error)).not.toContain('secret');
    }
    await reader.close();
  });
});

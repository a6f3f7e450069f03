import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import {
  openReader,
  type OpenReaderInput,
  type ReaderLimits,
} from '../../../../src/leads/postgres/read/open-reader.ts';
import { buildLead } from '../../build-lead.ts';

const limits: ReaderLimits = {
  searches: 3,
  searchTimeoutMs: 60_000,
  stuckAfterMs: 60_000,
  closeTimeoutMs: 60_000,
};
const workerData = {
  database: { url: 'postgres://nobody@127.0.0.1:1/unused', schema: 'unused' },
  connections: 2,
  statementTimeoutMs: 1,
  lookEveryMs: 1,
};
const signal = new AbortController().signal;
const query = { limit: 1 };

const port = `const { parentPort } = require('node:worker_threads');
  const tell = (event) => parentPort.postMessage({ event });
  const answer = (answer) => parentPort.postMessage({ answers: [answer] });`;
/** Threads that behave as a real one does in its bad moments. */
const threads = {
  silent: `${port} parentPort.on('message', () => {});`,
  throwing: `${port} parentPort.on('message', () => { throw new Error('out of order'); });`,
  exiting: `${port} parentPort.on('message', () => process.exit(3));`,
  failing: `${port} parentPort.on('message', (message) => {
    if (message === 'close') return parentPort.close();
    const [{ id }] = message.calls;
    answer(id === 2 ? { id, output: { lateCause: 'secret detail' } } : { id, failure: 'secret detail' });
  });`,
  changing: `${port} parentPort.on('message', (message) => {
    if (message === 'close') return parentPort.close();
    tell({ kind: 'connection-broken', cause: 'reset' });
    tell({ kind: 'serving', served: { revision: 'second' } });
    const leads = ${JSON.stringify(JSON.stringify([buildLead()]))};
    answer({ id: message.calls[0].id, output: { leads } });
  });`,
  telling: `${port} parentPort.on('message', (message) => {
    if (message.abort === 1) tell({ kind: 'serving', served: { revision: 'abandoned' } });
  });`,
};

const open = (
  thread: keyof typeof threads,
  { changed = {}, ...told }: { changed?: Partial<ReaderLimits> } & Partial<OpenReaderInput> = {},
) =>
  openReader({
    workerData,
    limits: { ...limits, ...changed },
    onServing: () => undefined,
    onForgotten: () => undefined,
    onTrouble: () => undefined,
    ...told,
    startWorker: () => new Worker(threads[thread], { eval: true }),
  });

describe('a reader of the leads in PostgreSQL', () => {
  it.each(['throwing', 'exiting'] as const)(
    'refuses all its searches when its thread is lost (%s)',
    async (thread) => {
      const reader = open(thread);
      const outcomes = await Promise.allSettled([1, 2, 3].map(() => reader.search(query, signal)));
      for (const outcome of outcomes)
        expect(outcome).toMatchObject({ reason: { code: 'upstream_error', retryAfterSeconds: 1 } });
      expect(await reader.ended).toMatchObject({ kind: 'crashed' });
      await expect(reader.search(query, signal)).rejects.toMatchObject({ code: 'upstream_error' });
      await reader.close();
    },
  );

  it('tells of other profiles before the first answer from them, and of what is for the log', async () => {
    const told: unknown[] = [];
    const reader = open('changing', {
      onServing: ({ revision }) => told.push(revision),
      onTrouble: (kind, cause) => told.push(kind, cause.message),
    });
    expect(await reader.search(query, signal)).toEqual([buildLead()]);
    expect(told).toEqual(['connection-broken', 'reset', 'second']);
    await reader.close();
    expect(await reader.ended).toEqual({ kind: 'closed' });
  });

  it('goes on after searches that failed, and tells nothing of the cause', async () => {
    const reader = open('failing');
    for (const message of [/failed/, /too long/]) {
      const error: unknown = await reader.search(query, signal).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'upstream_error', message: expect.stringMatching(message) });
      expect(String(error)).not.toContain('secret');
    }
    await reader.close();
  });

  it('tells the thread of a search that nobody waits for any more', async () => {
    const told = Promise.withResolvers<string>();
    const reader = open('telling', {
      changed: { closeTimeoutMs: 1 },
      onServing: ({ revision }) => told.resolve(revision),
    });
    const aborting = new AbortController();
    const search = reader.search(query, aborting.signal);
    await new Promise((resolve) => setImmediate(resolve));
    aborting.abort(new Error('gone home'));
    await expect(search).rejects.toThrow('gone home');
    expect(await told.promise).toBe('abandoned');
    await reader.close();
  });

  it('gives up a thread that does not end a search', async () => {
    const reader = open('silent', { changed: { stuckAfterMs: 5 } });
    await expect(reader.search(query, signal)).rejects.toMatchObject({ code: 'upstream_error' });
    expect(await reader.ended).toMatchObject({ kind: 'crashed' });
  });

  it('ends a thread that does not close by itself', async () => {
    const reader = open('silent', { changed: { closeTimeoutMs: 5 } });
    const search = reader.search(query, signal).catch((thrown: unknown) => thrown);
    await reader.close();
    expect(await search).toMatchObject({ code: 'upstream_error' });
    expect(await reader.ended).toEqual({ kind: 'closed' });
  });
});

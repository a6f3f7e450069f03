import { describe, expect, it } from 'vitest';
import {
  createPendingCalls,
  type PendingCallsOptions,
  ThreadError,
} from '../../../src/kit/threads/connect-thread.ts';

const pendingCalls = (changes: Partial<PendingCallsOptions> = {}) =>
  createPendingCalls<unknown>({ thread: 'the writer', maxCalls: 2, timeoutMs: 60_000, ...changes });

describe('pending calls', () => {
  it('settle each with its own answer, in whatever order the answers come', async () => {
    const pending = pendingCalls();
    const [first, second] = [pending.add(), pending.add()];
    pending.settle({ id: second.id, output: 'two' });
    pending.settle({ id: first.id, failure: 'the disk is full' });
    expect(await second.answer).toBe('two');
    await expect(first.answer).rejects.toEqual(new ThreadError('failed', 'the disk is full'));
    pending.stop();
  });

  it('refuse one too many and take another when one was answered', async () => {
    const pending = pendingCalls();
    const first = pending.add();
    void pending.add();
    expect(() => pending.add()).toThrow(/2 calls wait for the writer/);
    pending.settle({ id: first.id, output: 1 });
    expect(await first.answer).toBe(1);
    expect(pending.add().id).toBeGreaterThan(first.id);
    pending.stop();
  });

  it('are rejected when no answer comes in time, which is told, and a late answer does no harm', async () => {
    const told: ThreadError[] = [];
    const pending = pendingCalls({ timeoutMs: 5, onTimeout: (error) => told.push(error) });
    const { id, answer } = pending.add();
    await expect(answer).rejects.toMatchObject({ reason: 'timeout' });
    expect(told).toHaveLength(1);
    pending.settle({ id, output: 'late' });
    pending.stop();
  });

  it('are all rejected when the thread ends', async () => {
    const pending = pendingCalls();
    const answers = [pending.add().answer, pending.add().answer];
    pending.reject(new ThreadError('crashed', 'the writer ended'));
    for (const answer of answers) await expect(answer).rejects.toMatchObject({ reason: 'crashed' });
    pending.stop();
  });
});

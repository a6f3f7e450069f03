import { describe, expect, it } from 'vitest';
import { createPendingCommands } from '../../../src/store/sqlite/pending-commands.ts';
import { StoreError } from '../../../src/store/store-error.ts';

const pendingCommands = (changes: { maxWaiting?: number; timeoutMs?: number } = {}) =>
  createPendingCommands({ worker: 'the writer', maxWaiting: 2, timeoutMs: 60_000, ...changes });

describe('pending commands', () => {
  it('settle each with its own reply, in whatever order the replies come', async () => {
    const pending = pendingCommands();
    const [first, second] = [pending.add(), pending.add()];
    pending.settle({ id: second.id, value: 'two' });
    pending.settle({ id: first.id, failure: 'the disk is full', reason: 'full' });
    expect(await second.answer).toBe('two');
    await expect(first.answer).rejects.toEqual(new StoreError('full', 'the disk is full'));
    pending.stop();
  });

  it('refuse one too many and take another when one was answered', async () => {
    const pending = pendingCommands();
    const first = pending.add();
    void pending.add();
    expect(() => pending.add()).toThrow(/2 commands wait for the writer/);
    pending.settle({ id: first.id, value: 1 });
    expect(await first.answer).toBe(1);
    expect(pending.add().id).toBeGreaterThan(first.id);
    pending.stop();
  });

  it('are rejected when no reply comes in time, and a late reply does no harm', async () => {
    const pending = pendingCommands({ timeoutMs: 5 });
    const { id, answer } = pending.add();
    await expect(answer).rejects.toMatchObject({ reason: 'timeout' });
    pending.settle({ id, value: 'late' });
    pending.stop();
  });

  it('are all rejected when the worker ends', async () => {
    const pending = pendingCommands();
    const answers = [pending.add().answer, pending.add().answer];
    pending.reject(new StoreError('crashed', 'the writer ended'));
    for (const answer of answers) await expect(answer).rejects.toMatchObject({ reason: 'crashed' });
    pending.stop();
  });
});

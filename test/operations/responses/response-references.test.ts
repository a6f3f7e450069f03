import { describe, expect, it } from 'vitest';
import { outputItemId } from '../../../src/operations/responses/response-output.ts';
import { createResponse } from '../../../src/operations/responses/create-response.ts';
import { execute } from '../../../src/operations/execute.ts';
import type { AccountCall, Services } from '../../../src/operations/call.ts';
import { resolveReferences } from '../../../src/operations/responses/response-messages.ts';
import type { Job } from '../../../src/store/store.ts';
import { responsesJob } from './responses-job.ts';

const jobIdOf = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
const itemIdOf = (index: number): string => outputItemId('msg', jobIdOf(index), 0);

/** A store in which every job is a finished response of one message, with so much else in its result. */
const storeOf = ({ ballast = 0 } = {}) => {
  const asked: string[] = [];
  return {
    asked,
    getJob: async ({ id }: { id: string; accountId: string }): Promise<Job> => {
      asked.push(id);
      const output = [{ id: outputItemId('msg', id, 0), type: 'message', role: 'assistant', content: [] }];
      const result = JSON.stringify({ output, instructions: 'x'.repeat(ballast) });
      return { ...responsesJob, id, status: 'done', result };
    },
  };
};

const resolve = (ids: string[], store = storeOf(), maxBytes = 1_000_000) =>
  resolveReferences(
    ids.map((id) => ({ type: 'item_reference', id })),
    { store, accountId: 'account', maxBytes },
  );

describe('references in a request', () => {
  it('stand in the place of their items, each response read once', async () => {
    const store = storeOf();
    const placed = await resolve([itemIdOf(1), itemIdOf(2), itemIdOf(1)], store);
    expect(placed.map(({ item, param }) => [item['id'], param])).toEqual([
      [itemIdOf(1), 'input.0'],
      [itemIdOf(2), 'input.1'],
      [itemIdOf(1), 'input.2'],
    ]);
    expect(store.asked).toEqual([jobIdOf(1), jobIdOf(2)]);
  });

  it('name items of at most 256 responses', async () => {
    const ids = Array.from({ length: 257 }, (_, index) => itemIdOf(index));
    const store = storeOf();
    await expect(resolve(ids, store)).rejects.toMatchObject({
      code: 'invalid_value',
      param: 'input.256.id',
    });
    expect(store.asked).toHaveLength(256);
    expect(await resolve(ids.slice(1))).toHaveLength(256);
  });

  it('make a request too large by what they stand for, and by what has to be read for them', async () => {
    const refused = { code: 'input_too_large' };
    await expect(
      resolve(
        Array.from({ length: 20 }, () => itemIdOf(1)),
        storeOf(),
        1_000,
      ),
    ).rejects.toMatchObject(refused);
    const store = storeOf({ ballast: 3_000 });
    await expect(resolve([1, 2, 3].map(itemIdOf), store, 1_000)).rejects.toMatchObject(refused);
    expect(store.asked).toHaveLength(2);
  });

  it('are not looked up again for a request that is repeated: what they named may be gone', async () => {
    const services = (earlier: Job | null) =>
      ({
        config: { responsesMaxBytes: 1_000, chatDeadlineMs: 0 },
        clock: { now: () => 0 },
        accountLimiter: { consume: () => Promise.resolve() },
        catalogs: {
          refresh: () => Promise.resolve(),
          for: () => ({ find: () => ({ sku: responsesJob.model }), ownLimits: {} }),
        },
        jobs: {
          isDraining: () => false,
          wait: async () => ({ ...responsesJob, status: 'done', result: '{}' }),
        },
        store: {
          findReplay: async () => (earlier === null ? null : { outcome: 'replayed', job: earlier }),
          getJob: () => Promise.reject(new Error('it was looked up')),
        },
      }) as unknown as Services;
    const request = { model: responsesJob.model, input: [{ type: 'item_reference', id: itemIdOf(1) }] };
    const call = {
      transport: 'rest',
      caller: { accountId: 'account' },
      idempotencyKey: 'k',
      memory: { settleBody: () => undefined },
    } as unknown as AccountCall;
    expect(await execute(createResponse, request, call, services(responsesJob))).toMatchObject({
      headers: { 'idempotent-replayed': 'true' },
    });
    await expect(execute(createResponse, request, call, services(null))).rejects.toThrow('it was looked up');
  });

  it('ask for nothing when their id is none of ours', async () => {
    const store = storeOf();
    await expect(resolve(['msg_68a1'], store)).rejects.toMatchObject({ code: 'invalid_value' });
    expect(store.asked).toEqual([]);
  });
});

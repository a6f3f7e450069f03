import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/kit/ids.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const sold = (usd: string) => ({ on: true, price: { unit: 'call', price_usd: usd } });

describe.each(testEngines())('the changes of models on $kind', ({ create }) => {
  let data: TestStore;
  beforeEach(async () => {
    data = await create();
  });
  afterEach(() => data.remove());

  const change = async (version: number, now: number, usd: string | null = '2'): Promise<boolean> => {
    const callId = newId();
    const call = { actor: 'cli:me', actorLabel: null, operation: 'set_model', input: '{}', requestId: null };
    await data.store.startAudit({ id: callId, at: now, ...call });
    const price = usd === null ? null : sold(usd).price;
    const held = { before: sold('1'), after: sold(usd ?? '1') };
    return data.store.changeModel({ sku: 'draw', version, price, isOff: usd === null, ...held, now, callId });
  };

  it('hold until the next one, and keep who made them', async () => {
    expect(await change(1, 10)).toBe(true);
    expect(await change(2, 20, null)).toBe(true);
    const [first, second] = await data.store.listModelChanges(15);
    expect(first).toMatchObject({ sku: 'draw', version: 1, at: 10, until: 20, price: sold('2').price });
    expect(first).toMatchObject({ isOff: false, before: sold('1'), after: sold('2'), changedBy: 'cli:me' });
    expect(second).toMatchObject({ version: 2, price: null, isOff: true });
    expect(await data.store.listModelChanges(20)).toEqual([second]);
    expect(await data.store.listModelHistory({ sku: 'draw', before: null, limit: 5 })).toEqual([
      second,
      first,
    ]);
    expect(await data.store.listModelHistory({ sku: 'draw', before: 2, limit: 5 })).toEqual([first]);
  });

  it('of two at once one is made, and the other changes nothing', async () => {
    await change(1, 10);
    const made = await Promise.all([change(2, 20, '3'), change(2, 30, '4')]);
    expect(made.filter(Boolean)).toHaveLength(1);
    const [now, before] = await data.store.listModelHistory({ sku: 'draw', before: null, limit: 5 });
    expect(before?.until).toBe(now?.at);
  });
});

import { expect, it, onTestFinished } from 'vitest';
import { checkBought } from '../../../src/payments/buying/create-buyer.ts';
import { testEngines } from '../../store/open-test-store.ts';

it.each(testEngines().map((engine) => [engine.kind, engine] as const))(
  'a bought payment of which the chain does not tell is looked up again later, on %s',
  async (_name, engine) => {
    const { store, remove } = await engine.create();
    onTestFinished(remove);
    const createdAt = 1_700_000_000_000;
    await store.recordBoughtPayment({
      identity: 'eip155:8453:1',
      request: 'a request',
      upstream: 'a model',
      operation: 'create_image',
      jobId: null,
      soldPayment: null,
      network: 'eip155:8453',
      asset: 'a token',
      payTo: 'a seller',
      amount: 1n,
      price: 1n,
      payload: '{}',
      requirements: '{}',
      leaseUntil: createdAt,
      checkAt: createdAt,
      maxPerDay: 10n,
      now: createdAt,
    });
    const now = createdAt + 420_001;
    const { signal } = new AbortController();
    await checkBought({ store, clock: { now: () => now } }, { networks: [], signal });
    expect((await store.getBoughtPayment('eip155:8453:1'))?.checkAt).toBe(now + 105_001);
  },
);

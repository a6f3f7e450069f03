import { afterAll, beforeAll, expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import type { SaleContext } from '../../../src/payments/sale/context.ts';
import { recall } from '../../../src/payments/sale/purchase.ts';
import { parseProof, paymentIdentity } from '../../../src/payments/wire/parse-proof.ts';
import { addPayment, start } from '../../store/builders.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';

const [engine] = testEngines();
let data: TestStore;
beforeAll(async () => {
  data = await engine!.create();
});
afterAll(() => data.remove());

const dayMs = 86_400_000;
const address = (digit: string): string => `0x${digit.repeat(40)}`;
const proofOf = (nonce: string) => {
  const times = { validAfter: '0', validBefore: '1900000000' };
  const parties = { from: address('1'), to: address('2'), value: '100000' };
  const authorization = { ...parties, ...times, nonce: `0x${nonce.repeat(64)}` };
  const payload = { signature: `0x${'12'.repeat(65)}`, authorization };
  return { meta: { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload } };
};

it.each(['settled', 'delivered'] as const)(
  'reads a payment that is %s for a day, and no longer',
  async (state) => {
    const proofs = proofOf(state === 'settled' ? 'a' : 'b');
    const identity = await paymentIdentity(parseProof(proofs));
    const payload = JSON.stringify({ payload: proofs.meta.payload });
    await addPayment(data.store, state, { identity, payload });
    const recallAt = (now: number) =>
      recall(
        {
          store: data.store,
          methods: [],
          clock: { now: () => now },
          log: silentLog,
        } as unknown as SaleContext,
        proofs,
      );
    expect(await recallAt(start + dayMs)).toMatchObject({ identity });
    await expect(recallAt(start + dayMs + 1)).rejects.toMatchObject({ code: 'payment_conflict' });
  },
);

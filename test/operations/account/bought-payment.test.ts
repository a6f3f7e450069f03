import { afterAll, beforeAll, expect, it } from 'vitest';
import { boughtPaymentView } from '../../../src/operations/account/bought-payment.ts';
import { createTokenTexts } from '../../../src/payments/records/token-amount.ts';
import type { Services } from '../../../src/operations/call.ts';
import { addPayment } from '../../store/builders.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';

const [engine] = testEngines();
let data: TestStore;
beforeAll(async () => {
  data = await engine!.create();
});
afterAll(() => data.remove());

it('shows the amount that a payment took, and not the most that its buyer signed', async () => {
  const payment = await addPayment(data.store, 'delivered', {
    asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
    amount: 1_000_000n,
    payload: '{}',
    set: { settledAmount: 300_000n },
  });
  const x402 = createTokenTexts([]) as unknown as Services['x402'];
  const shown = boughtPaymentView.show(payment, { x402 });
  expect(shown).toMatchObject({ amount: '0.30', amount_units: '300000' });
});

import { expect, it } from 'vitest';
import { nanoPerUsd } from '../../../src/kit/money.ts';
import type { DescribedOperation } from '../../../src/operations/definition.ts';
import { topUp } from '../../../src/operations/account/top-up.ts';
import { paymentRequiredContent } from '../../../src/rest/openapi/payment-required.ts';

const contentOf = (price: DescribedOperation['price']): string =>
  JSON.stringify(paymentRequiredContent({ ...topUp, price }, topUp.sale));

it('the example of a 402 has the least price of a call', () => {
  expect(contentOf({ least: nanoPerUsd / 4n, most: null })).toContain('"amount":"0.25"');
});

it('a 402 that nobody can pay has no example', () => {
  expect(contentOf(null)).toContain('#/components/schemas/PaymentRequired');
  expect(contentOf(null)).not.toMatch(/amount|examples/);
});

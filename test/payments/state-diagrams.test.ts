import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { documentsWithStates, withStateDiagrams } from '../../scripts/state-diagrams.ts';
import { paymentStates } from '../../src/rules/payments.ts';

describe('the tables of events', () => {
  it.each(documentsWithStates)('are drawn in %s (npm run docs:settings writes it)', (file) => {
    const document = readFileSync(file, 'utf8');
    expect(document.match(/stateDiagram-v2/g)).toHaveLength(1);
    expect(withStateDiagrams(document)).toBe(document);
  });

  it('are the only way to move a payment or a refund', () => {
    const holding = (pattern: RegExp): string[] =>
      globSync('src/**/*.ts')
        .filter((file) => !file.startsWith('src/store/') && pattern.test(readFileSync(file, 'utf8')))
        .sort();
    expect(holding(/\.(?:advancePayment|advanceRefund)\(/)).toEqual([
      'src/payments/refunds/refund-events.ts',
      'src/payments/sale/move-payment.ts',
    ]);
    const states = [...paymentStates, 'planned', 'sending'].join('|');
    expect(holding(new RegExp(`\\b(?:from: \\[|to: )'(?:${states})'`))).toEqual([
      'src/payments/refunds/refund-events.ts',
      'src/payments/sale/payment-events.ts',
    ]);
  });
});

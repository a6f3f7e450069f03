import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRetryBudget } from '../../src/providers/route-attempts.ts';

describe('a retry budget', () => {
  it('pays for ten retries at once, then for one in ten requests', () => {
    const budget = createRetryBudget();
    const first = Array.from({ length: 11 }, () => budget.spend());
    expect(first.filter(Boolean)).toHaveLength(10);
    for (let count = 0; count < 9; count += 1) budget.deposit();
    expect(budget.spend()).toBe(false);
    budget.deposit();
    expect(budget.spend()).toBe(true);
    expect(budget.spend()).toBe(false);
  });

  it('never pays for more than ten and a tenth of the requests', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 500 }), (steps) => {
        const budget = createRetryBudget();
        let requests = 0;
        let retries = 0;
        for (const isRequest of steps) {
          if (isRequest) {
            budget.deposit();
            requests += 1;
          } else if (budget.spend()) retries += 1;
        }
        expect(retries).toBeLessThanOrEqual(10 + requests / 10);
      }),
    );
  });
});

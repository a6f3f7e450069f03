import { describe } from 'vitest';
import { describeDeaths } from './describe-deaths.ts';
import { isSettlement } from './payment-steps.ts';

describe.each(['base', 'solana'] as const)('on %s', (chain) => {
  describeDeaths({
    situation: 'that is killed at any step of a settlement by a remote facilitator',
    chain,
    engine: 'sqlite',
    facilitator: 'remote',
    expected: ['advancePayment to broadcasting', 'POST /settle', 'advancePayment to settled'],
    isWanted: isSettlement,
    states: ['verified', 'produced', 'broadcasting', 'settled', 'delivered'],
  });
});

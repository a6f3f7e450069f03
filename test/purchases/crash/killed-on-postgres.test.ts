import { describe } from 'vitest';
import { isPostgresThere } from '../../store/open-test-store.ts';
import { describeDeaths } from './describe-deaths.ts';
import { isWrite, writes } from './payment-steps.ts';

describe.runIf(await isPostgresThere())('with PostgreSQL', () => {
  describeDeaths({
    situation: 'on PostgreSQL that is killed at any write of a payment',
    chain: 'base',
    engine: 'postgres',
    facilitator: 'local',
    expected: writes,
    isWanted: isWrite,
  });
});

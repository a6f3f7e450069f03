import { describe } from 'vitest';
import { describeDeaths } from './describe-deaths.ts';
import { isWrite, writes } from './payment-steps.ts';
import { hasService } from '../../outside-services.ts';

describe.runIf(hasService('PostgreSQL'))('with PostgreSQL', () => {
  describeDeaths({
    situation: 'on PostgreSQL that is killed at any write of a payment that raises a balance',
    isCredit: true,
    chain: 'base',
    engine: 'postgres',
    facilitator: 'local',
    expected: writes,
    isWanted: isWrite,
  });
});

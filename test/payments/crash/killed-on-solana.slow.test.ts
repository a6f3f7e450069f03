import { describeDeaths } from './describe-deaths.ts';
import { writes } from './payment-steps.ts';

describeDeaths({
  situation: 'on SQLite that is killed at any step of a payment on Solana that raises a balance',
  isCredit: true,
  chain: 'solana',
  engine: 'sqlite',
  facilitator: 'local',
  expected: [...writes, 'produce', 'simulateTransaction', 'sendTransaction', 'getSignatureStatuses'],
});

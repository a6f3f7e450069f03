import { describeDeaths } from './describe-deaths.ts';
import { writes } from './payment-steps.ts';

describeDeaths({
  situation: 'on SQLite that is killed at any step of a payment on Base',
  chain: 'base',
  engine: 'sqlite',
  facilitator: 'local',
  expected: [
    ...writes,
    'produce',
    'eth_call',
    'eth_estimateGas',
    'eth_getTransactionCount',
    'eth_sendRawTransaction',
    'eth_getTransactionReceipt',
  ],
});

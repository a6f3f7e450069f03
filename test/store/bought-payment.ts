import type { NewBoughtPayment } from '../../src/store/store.ts';
import { start } from './builders.ts';

export const bought = (identity: string, fields: Partial<NewBoughtPayment> = {}): NewBoughtPayment => ({
  identity,
  request: 'request',
  upstream: 'providers.images',
  operation: 'image',
  jobId: null,
  soldPayment: null,
  network: 'eip155:84532',
  asset: '0xusdc',
  payTo: '0xseller',
  amount: 40_000n,
  price: 40n,
  payload: '{}',
  requirements: '{}',
  leaseUntil: start + 60_000,
  checkAt: start + 90_000,
  maxPerDay: 100n,
  now: start,
  ...fields,
});

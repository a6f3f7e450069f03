import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { silentLog } from '../../../src/kit/log.ts';
import { getPayment, listPayments } from '../../../src/operator/payments/payments.ts';
import { reconcilePayments } from '../../../src/operator/payments/reconcile.ts';
import { cancelRefund, listRefunds, sendRefund } from '../../../src/operator/payments/refunds.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { Payment, Store } from '../../../src/store/store.ts';
import { addPayment as addPaymentTo } from '../../store/builders.ts';
import { operatorOf as commandsOf, temporaryDataFolder } from '../run-cli.ts';
import type { PaymentState } from '../../../src/rules/payments.ts';

export const base = { network: 'eip155:84532', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' };
export const bnb = { network: 'eip155:56', asset: '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d' };
export const payer = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';

export const documents = {
  list: listPayments.output,
  shown: getPayment.output,
  refunds: listRefunds.output,
  refundEnd: sendRefund.output,
  canceled: cancelRefund.output,
  reconciled: reconcilePayments.output,
  exported: z.strictObject({ file: z.string(), payments: z.int() }),
};

export const operatorOf = (environment: Record<string, string>) =>
  commandsOf(environment, { subject: 'payments' });

export type Operator = ReturnType<typeof operatorOf>;

const hex = (length: number): string => `0x${randomUUID().replaceAll('-', '').repeat(2).slice(0, length)}`;

/** A payment of 0.10 USDC on Base that has come to this state. */
export const addPayment = (
  store: Store,
  state: PaymentState,
  { set, now = Date.now(), ...payment }: Parameters<typeof addPaymentTo>[2] = {},
): Promise<Payment> => {
  const network = { ...base, amount: 100_000n, ...payment };
  const identity = `${network.network}:${network.asset}:${payer}:${hex(64)}`.toLowerCase();
  const isSettled = state === 'settled' || state === 'delivered';
  const settled = isSettled ? { settledAt: now, payer, transaction: hex(64) } : {};
  return addPaymentTo(store, state, { identity, ...network, now, set: { ...settled, ...set } });
};

export const addRefund = async (
  store: Store,
  payment: Payment,
  amount: bigint,
  now = Date.now(),
): Promise<string> => {
  const id = randomUUID();
  await store.planRefund({ id, payment: payment.identity, amount, note: '=1+1', acceptsUnknown: false, now });
  return id;
};

export const settleRefund = async (store: Store, id: string, now = Date.now()): Promise<string> => {
  const transaction = hex(64);
  const sent = { sender: payer, transaction, rawTransaction: '0xsecretraw' };
  await store.advanceRefund({ id, from: ['planned'], to: 'sending', set: sent, now });
  await store.advanceRefund({ id, from: ['sending'], to: 'settled', now });
  return transaction;
};

export const openGateway = async (env: { DATABASE_URL?: string; DATA_DIR: string }): Promise<Store> => {
  const store = await openStore(
    { databaseUrl: env.DATABASE_URL ?? null, dataDir: env.DATA_DIR },
    { log: silentLog },
  );
  onTestFinished(() => store.close());
  return store;
};

export const embedded = async (): Promise<{ store: Store; operator: Operator; dataDir: string }> => {
  const dataDir = await temporaryDataFolder();
  const store = await openGateway({ DATA_DIR: dataDir });
  return { store, operator: operatorOf({ DATA_DIR: dataDir }), dataDir };
};

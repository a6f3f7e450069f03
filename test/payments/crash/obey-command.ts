import { randomUUID } from 'node:crypto';
import { AppError } from '../../../src/kit/errors.ts';
import { sha256 } from '../../../src/kit/ids.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import type { PayableNetwork } from '../../../src/payments/chains/payment-methods.ts';
import { createX402Gate, type PayOutcome, type X402Gate } from '../../../src/payments/sale/gate.ts';
import type { Store } from '../../../src/store/store.ts';
import { describeSale, overRest } from '../wire/sale.ts';
import type { GateAnswer, GateCommand, PayEnd, PayOrder, Run } from './gate-commands.ts';
import { step, walk } from './steps.ts';

type Command<K extends GateCommand['kind']> = Extract<GateCommand, { kind: K }>;

/**
 * Does what a command says, with gates over `store`, whose commands are steps. Resolves with null when the work has come
 * to the step to die at, and waits there for ever.
 */
export const obey = (store: Store, command: GateCommand): Promise<GateAnswer | null> => {
  switch (command.kind) {
    case 'pay':
      return payEach(store, command);
    case 'payAtOnce':
      return payAtOnce(store, command);
    case 'reconcile':
      return reconcile(store, command);
    case 'abandon':
      return abandon(store, command);
  }
};

const openGate = async (
  store: Store,
  networks: PayableNetwork[],
  { aheadMs, timeouts }: Run,
): Promise<X402Gate> => {
  const gate = createX402Gate({
    store,
    networks,
    sales: [describeSale()],
    publicUrl: () => 'https://leads.example',
    clock: { now: () => Date.now() + aheadMs },
    log: silentLog,
    owner: randomUUID(),
    ...(timeouts === undefined ? {} : { timeouts }),
  });
  // What a facilitator elsewhere supports has to be asked before its terms are known.
  if (networks.some(({ facilitator }) => facilitator.kind === 'remote')) await gate.warmUp();
  return gate;
};

const toPayEnd = (outcome: PayOutcome): PayEnd => {
  if (outcome.outcome === 'unpaid') return { kind: 'unpaid', reason: outcome.challenge.body.error };
  const { result, replayed, transaction } = outcome;
  return { kind: 'served', result: result ?? '', replayed, transaction };
};

const pay = async (gate: X402Gate, { proofs, sale, isCredit = false }: PayOrder): Promise<PayEnd> => {
  try {
    const order = {
      price: parseUsd('0.10'),
      ...overRest,
      proofs,
      requestHash: sha256(sale),
      client: '203.0.113.7',
      produce: () => step('produce', () => Promise.resolve(JSON.stringify({ sale, made: randomUUID() }))),
      signal: new AbortController().signal,
    };
    const credit = { accountId: null, isSandbox: true };
    return toPayEnd(await (isCredit ? gate.takeCredit({ ...order, credit }) : gate.sellAnswer(order)));
  } catch (error) {
    if (error instanceof AppError) return { kind: 'refused', code: error.code };
    throw error;
  }
};

/** Closing belongs to it: what is written down after the answer is a step as well. */
const payAlone = async (store: Store, order: PayOrder, run: Run & { stopAt: string | null }) => {
  const gate = await openGate(store, order.networks, run);
  return walk(async () => {
    const end = await pay(gate, order);
    await gate.close();
    return end;
  }, run.stopAt);
};

const payEach = async (store: Store, command: Command<'pay'>): Promise<GateAnswer | null> => {
  const { orders, dieAt } = command;
  const ends: PayEnd[] = [];
  let steps: string[] = [];
  for (const order of orders) {
    const walked = await payAlone(store, order, { ...command, stopAt: dieAt });
    if (walked.ended !== null) ends.push(walked.ended.value);
    ({ steps } = walked);
  }
  if (dieAt === null) return { kind: 'paid', ends, steps };
  return ends.length === 0 ? null : { kind: 'not reached', steps };
};

const payAtOnce = async (store: Store, command: Command<'payAtOnce'>): Promise<GateAnswer | null> => {
  const { networks, orders } = command;
  const gate = await openGate(store, networks, command);
  const ends = await Promise.all(orders.map((order) => pay(gate, order)));
  await gate.close();
  return { kind: 'paid', ends, steps: [] };
};

const reconcile = async (store: Store, command: Command<'reconcile'>): Promise<GateAnswer | null> => {
  const { networks, limit, dieAt } = command;
  const gate = await openGate(store, networks, command);
  const { steps, ended } = await walk(() => gate.reconcile({ limit }), dieAt);
  if (ended === null) return null;
  await gate.close();
  return dieAt === null ? { kind: 'reconciled', report: ended.value, steps } : { kind: 'not reached', steps };
};

const abandon = async (store: Store, command: Command<'abandon'>): Promise<GateAnswer | null> => {
  const { steps, ended } = await payAlone(store, command.order, { ...command, stopAt: command.at });
  return ended === null ? { kind: 'abandoned' } : { kind: 'not reached', steps };
};

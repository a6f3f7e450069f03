import { randomUUID } from 'node:crypto';
import { AppError } from '../../../src/kit/errors.ts';
import { sha256 } from '../../../src/kit/ids.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import type { PayableNetwork } from '../../../src/payments/payment-methods.ts';
import { createX402Gate, type PayOutcome, type X402Gate } from '../../../src/purchases/x402/x402-gate.ts';
import { openStoreAt } from '../../store/open-test-store.ts';
import type { GateAnswer, GateCommand, GateSettings, PayEnd, PayOrder, Run } from './gate-commands.ts';
import { step, walk, watchRequests, watchStore } from './steps.ts';
import { describeSale, overRest } from '../../payments/extensions/sale.ts';

/**
 * A process with payment gates over a real store, that does what its parent tells it, and kills itself at the step
 * that its parent names. Its one argument is JSON of GateSettings; it ends with its parent.
 */
const longestLifeMs = 120_000;

const settings: GateSettings = JSON.parse(process.argv[2] ?? '{}');
watchRequests();
const store = watchStore(await openStoreAt(settings.kind, settings.location));
let madeCount = 0;

const openGate = async (networks: PayableNetwork[], { aheadMs, timeouts }: Run): Promise<X402Gate> => {
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
  return { kind: 'served', result, replayed, transaction };
};

const pay = async (gate: X402Gate, { proofs, sale }: PayOrder): Promise<PayEnd> => {
  try {
    const outcome = await gate.pay({
      price: parseUsd('0.10'),
      ...overRest,
      proofs,
      requestHash: sha256(sale),
      produce: () =>
        step('produce', () => {
          madeCount += 1;
          return Promise.resolve(JSON.stringify({ sale, made: `${process.pid} ${madeCount}` }));
        }),
      signal: new AbortController().signal,
    });
    return toPayEnd(outcome);
  } catch (error) {
    if (error instanceof AppError) return { kind: 'refused', code: error.code };
    throw error;
  }
};

/** Closing belongs to it: what is written down after the answer is a step as well. */
const payAlone = async (order: PayOrder, run: Run & { stopAt: string | null }) => {
  const gate = await openGate(order.networks, run);
  return walk(async () => {
    const end = await pay(gate, order);
    await gate.close();
    return end;
  }, run.stopAt);
};

const die = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

type Command<K extends GateCommand['kind']> = Extract<GateCommand, { kind: K }>;

const payEach = async (command: Command<'pay'>): Promise<GateAnswer> => {
  const { orders, dieAt } = command;
  const ends: PayEnd[] = [];
  let steps: string[] = [];
  for (const order of orders) {
    const walked = await payAlone(order, { ...command, stopAt: dieAt });
    if (walked.ended !== null) ends.push(walked.ended.value);
    ({ steps } = walked);
  }
  if (dieAt === null) return { kind: 'paid', ends, steps };
  if (ends.length === 0) die();
  return { kind: 'not reached', steps };
};

const payAtOnce = async (command: Command<'payAtOnce'>): Promise<GateAnswer> => {
  const { networks, orders } = command;
  const gate = await openGate(networks, command);
  const ends = await Promise.all(orders.map((order) => pay(gate, order)));
  await gate.close();
  return { kind: 'paid', ends, steps: [] };
};

const reconcile = async (command: Command<'reconcile'>): Promise<GateAnswer> => {
  const { networks, limit, dieAt } = command;
  const gate = await openGate(networks, command);
  const { steps, ended } = await walk(() => gate.reconcile({ limit }), dieAt);
  if (ended === null) die();
  await gate.close();
  return ended === null || dieAt !== null
    ? { kind: 'not reached', steps }
    : { kind: 'reconciled', report: ended.value, steps };
};

const abandon = async (command: Command<'abandon'>): Promise<GateAnswer> => {
  const { steps, ended } = await payAlone(command.order, { ...command, stopAt: command.at });
  return ended === null ? { kind: 'abandoned' } : { kind: 'not reached', steps };
};

const obey = (command: GateCommand): Promise<GateAnswer> => {
  switch (command.kind) {
    case 'pay':
      return payEach(command);
    case 'payAtOnce':
      return payAtOnce(command);
    case 'reconcile':
      return reconcile(command);
    case 'abandon':
      return abandon(command);
  }
};

const answer = (message: GateAnswer): void => {
  process.send?.(message);
};

process.on('message', (command: GateCommand) => {
  obey(command).then(answer, (error: unknown) =>
    answer({
      kind: 'broken',
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    }),
  );
});
process.on('disconnect', () => process.exit());
setTimeout(() => process.exit(), longestLifeMs);

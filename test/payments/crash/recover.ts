import type { PayableNetwork } from '../../../src/payments/chains/payment-methods.ts';
import type { CrashSite, Purchase } from './crash-site.ts';
import type { GateAnswer, PayEnd, PayOrder, Run } from './gate-commands.ts';
import type { Gate } from './start-gate.ts';
import type { PaymentState } from '../../../src/rules/payments.ts';

/** Just after the lease of a process that died a moment ago has run out. */
export const afterLeaseMs = 31_000;
/** When every proof that was made until now has run out. */
export const expiredMs = 3_600_000;
export const manyPayments = 1_000;
const maxTries = 12;
const maxRounds = 5;

/** What an answer says that is no success: it asks to come again with the same proof. */
const comeAgain = ['payment_in_progress', 'payment_pending', 'payment_unavailable'];
/** States that belong to a process; a dead one's are to be left. */
const underWay: readonly PaymentState[] = ['reserved', 'verified', 'broadcasting'];
/** States that wait for the buyer as long as his proof can be settled. */
const waiting: readonly PaymentState[] = ['produced', 'unknown'];

const isKind = <K extends GateAnswer['kind']>(
  answer: GateAnswer,
  kind: K,
): answer is Extract<GateAnswer, { kind: K }> => answer.kind === kind;

const expectKind = <K extends GateAnswer['kind']>(
  answer: GateAnswer,
  kind: K,
): Extract<GateAnswer, { kind: K }> => {
  if (isKind(answer, kind)) return answer;
  throw new Error(`not ${kind}: ${JSON.stringify(answer)}`);
};

/** Pays once, unless told otherwise when dead processes' leases have run out. */
export const payOnce = async (
  gate: Gate,
  order: PayOrder,
  run: Run = { aheadMs: afterLeaseMs },
): Promise<PayEnd> => {
  const answer = await gate.ask({ ...run, kind: 'pay', orders: [order], dieAt: null });
  const [end] = expectKind(answer, 'paid').ends;
  if (end === undefined) throw new Error('the gate process paid nothing');
  return end;
};

/** Comes with the same proof until it is not asked to come again; every answer. */
export const comeBack = async (gate: Gate, order: PayOrder): Promise<[...PayEnd[], PayEnd]> => {
  const earlier: PayEnd[] = [];
  for (;;) {
    const end = await payOnce(gate, order);
    const isFinal = end.kind !== 'refused' || !comeAgain.includes(end.code);
    if (isFinal || earlier.length === maxTries) return [...earlier, end];
    earlier.push(end);
  }
};

/** Reconciles up to `limit` payments; the names of all steps of it. */
export const reconcileOnce = async (
  gate: Gate,
  run: { networks: PayableNetwork[]; aheadMs: number; limit?: number },
): Promise<string[]> => {
  const answer = await gate.ask({ limit: manyPayments, ...run, kind: 'reconcile', dieAt: null });
  return expectKind(answer, 'reconciled').steps;
};

const reconcileWhile = async (
  gate: Gate,
  { site, networks, purchases }: { site: CrashSite; networks: PayableNetwork[]; purchases: Purchase[] },
  { states, aheadMs }: { states: readonly PaymentState[]; aheadMs: (round: number) => number },
): Promise<void> => {
  for (let round = 1; round <= maxRounds; round += 1) {
    await reconcileOnce(gate, { networks, aheadMs: aheadMs(round) });
    const payments = await Promise.all(purchases.map((purchase) => site.payment(purchase)));
    if (!payments.some((payment) => payment !== null && states.includes(payment.state))) return;
  }
};

type Reconciling = Parameters<typeof reconcileWhile>[1];

/** Reconciles for some minutes of the gate's time, or until none of the payments is a dead process's. */
export const reconcileSoon = (gate: Gate, reconciling: Reconciling, fromMs = afterLeaseMs): Promise<void> =>
  reconcileWhile(gate, reconciling, {
    states: underWay,
    aheadMs: (round) => fromMs + (round - 1) * afterLeaseMs,
  });

/** Reconciles for hours of the gate's time, or until every payment has an end. */
export const reconcileLater = (gate: Gate, reconciling: Reconciling): Promise<void> =>
  reconcileWhile(gate, reconciling, {
    states: [...underWay, ...waiting],
    aheadMs: (round) => round * expiredMs,
  });

/** The names of all steps of one undisturbed payment. */
export const recordSteps = async (gate: Gate, order: PayOrder): Promise<string[]> => {
  const answer = await gate.ask({ kind: 'pay', orders: [order], dieAt: null, aheadMs: 0 });
  const { ends, steps } = expectKind(answer, 'paid');
  if (ends[0]?.kind !== 'served') throw new Error(`an undisturbed payment: ${JSON.stringify(ends)}`);
  return steps;
};

/** Leaves the payment at that step, as a process leaves it that dies there. */
export const abandon = async (gate: Gate, order: PayOrder, at: string): Promise<void> => {
  expectKind(await gate.ask({ kind: 'abandon', order, at, aheadMs: 0 }), 'abandoned');
};

/** A transaction of another process in the place of one's own is noticed when waiting for it ends. */
const settleSoon = { settleMs: 3_000 };

/** Pays everything at once at one gate; the answers in the same order. */
export const payAtOnce = async (
  gate: Gate,
  networks: PayableNetwork[],
  orders: PayOrder[],
): Promise<PayEnd[]> => {
  const answer = await gate.ask({ kind: 'payAtOnce', networks, orders, aheadMs: 0, timeouts: settleSoon });
  return expectKind(answer, 'paid').ends;
};

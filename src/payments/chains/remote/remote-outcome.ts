import {
  signalWithin,
  type BegunPayment,
  type FacilitatorTimeouts,
  type FoundOutcome,
  type PaymentOrder,
  type SettleOutcome,
} from '../core/facilitator.ts';
import type { JsonRpc } from '../core/json-rpc.ts';
import type { PaymentNetwork } from '../core/network-family.ts';
import { pause } from '../../../kit/repeat.ts';

export interface ChainWitness {
  network: PaymentNetwork;
  rpc: JsonRpc;
  timeouts: FacilitatorTimeouts;
  now: () => number;
}

/** The node asked may be some blocks behind the facilitator's. */
const pollMs = 500;

/** Asks for a payment. The name that somebody gave its transaction is a hint, believed once it is seen. */
const ask = async (
  witness: ChainWitness,
  payment: BegunPayment,
  signal: AbortSignal,
): Promise<FoundOutcome> => {
  const { network, rpc, now } = witness;
  try {
    const found = await network.family.findOutcome(payment, { rpc, signal, now: now() });
    // The failure of a transaction that somebody named proves nothing of others that may carry the payment.
    return found.outcome === 'failed' && payment.transaction !== null
      ? await ask(witness, { ...payment, transaction: null }, signal)
      : found;
  } catch {
    return { outcome: 'unknown', reason: 'rpc_unavailable' };
  }
};

/** Finds the outcome of a payment. Never rejects; `unknown` when the chain does not answer. */
export const findRemoteOutcome = (
  witness: ChainWitness,
  payment: BegunPayment,
  signal?: AbortSignal,
): Promise<FoundOutcome> => ask(witness, payment, signalWithin(witness.timeouts.queryMs, signal));

const begin = (order: PaymentOrder, transaction: string | null, { now }: ChainWitness): BegunPayment => ({
  ...order,
  transaction,
  rawTransaction: null,
  facilitator: null,
  createdAt: now(),
});

const confirmSettled = async (
  witness: ChainWitness,
  order: PaymentOrder,
  claimed: SettleOutcome & { outcome: 'settled' },
): Promise<SettleOutcome> => {
  const { transaction } = claimed;
  const signal = AbortSignal.timeout(witness.timeouts.queryMs);
  let hasAnswered = false;
  do {
    const found = await ask(witness, begin(order, transaction, witness), signal);
    if (found.outcome === 'settled') return found;
    hasAnswered ||= found.outcome !== 'unknown';
    if (found.outcome === 'failed') break;
    await pause(pollMs, signal, { keepsAlive: true });
  } while (!signal.aborted);
  return {
    outcome: 'unknown',
    reason: hasAnswered ? 'settlement_not_found' : 'settlement_unchecked',
    transaction,
  };
};

/** A facilitator that refuses may have settled all the same, so the chain has the last word where it can be asked. */
const confirmFailed = async (
  witness: ChainWitness,
  order: PaymentOrder,
  claimed: SettleOutcome & { outcome: 'failed' },
): Promise<SettleOutcome> => {
  const found = await findRemoteOutcome(witness, begin(order, null, witness));
  switch (found.outcome) {
    case 'settled':
      return found;
    case 'failed':
    case 'open':
      // Nothing was sent, and the chain has seen nothing.
      return claimed;
    case 'unknown':
      return { outcome: 'unknown', reason: claimed.reason, transaction: null };
  }
};

/** Checks a facilitator's word for the outcome of a settlement against the chain. */
export const confirmClaim = async (
  witness: ChainWitness,
  order: PaymentOrder,
  claimed: SettleOutcome,
): Promise<SettleOutcome> => {
  switch (claimed.outcome) {
    case 'settled':
      return confirmSettled(witness, order, claimed);
    case 'failed':
      return confirmFailed(witness, order, claimed);
    case 'unavailable':
    case 'unknown':
      return claimed;
  }
};

import type {
  BegunPayment,
  FacilitatorTimeouts,
  FoundOutcome,
  PaymentOrder,
  SettleOutcome,
} from '../core/facilitator.ts';
import { isVerdict, RpcOutage, RpcRefusal, type JsonRpc } from '../core/json-rpc.ts';
import type { PaymentNetwork } from '../core/network-family.ts';
import { pause } from '../../kit/repeat.ts';

/** Asks the chain about payments that facilitators elsewhere settle. */
export interface RemoteOutcome {
  /** Never rejects; `unknown` when the chain does not answer. */
  find(payment: BegunPayment, signal: AbortSignal): Promise<FoundOutcome>;
  /** Checks a facilitator's word for the outcome of a settlement against the chain. */
  confirm(order: PaymentOrder, claimed: SettleOutcome): Promise<SettleOutcome>;
}

export interface RemoteOutcomeOptions {
  network: PaymentNetwork;
  rpc: JsonRpc;
  timeouts: FacilitatorTimeouts;
  /** Allows the word of a facilitator to count while no node answers. */
  takesUnchecked: boolean;
  /** Epoch milliseconds. */
  now: () => number;
}

/** The node asked may be some blocks behind the facilitator's. */
const pollMs = 500;

export const createRemoteOutcome = (options: RemoteOutcomeOptions): RemoteOutcome => {
  const { network, rpc, timeouts, takesUnchecked, now } = options;
  const { family } = network;

  /** Tells whether the node answers at all when it is asked for a transaction. */
  const nodeAnswers = async (transaction: string, signal: AbortSignal): Promise<boolean> => {
    try {
      await family.readTransaction(transaction, { rpc, signal });
      return true;
    } catch (error) {
      // A node that calls the question impossible has answered.
      return !(error instanceof RpcOutage || (error instanceof RpcRefusal && !isVerdict(error)));
    }
  };

  const askOnce = async (payment: BegunPayment, signal: AbortSignal): Promise<FoundOutcome> => {
    try {
      return await family.findOutcome(payment, { rpc, signal, now: now() });
    } catch {
      return { outcome: 'unknown', reason: 'rpc_unavailable' };
    }
  };
  /** Asks for a payment. The name that somebody gave its transaction is a hint, believed once it is seen. */
  const ask = async (payment: BegunPayment, signal: AbortSignal): Promise<FoundOutcome> => {
    const found = await askOnce(payment, signal);
    // The failure of a transaction that somebody named proves nothing of others that may carry the payment.
    return found.outcome === 'failed' && payment.transaction !== null
      ? askOnce({ ...payment, transaction: null }, signal)
      : found;
  };

  const begin = (order: PaymentOrder, transaction: string | null): BegunPayment => ({
    ...order,
    transaction,
    rawTransaction: null,
    facilitator: null,
    createdAt: now(),
  });

  const confirmSettled = async (
    order: PaymentOrder,
    claimed: SettleOutcome & { outcome: 'settled' },
  ): Promise<SettleOutcome> => {
    const { transaction, payer } = claimed;
    const signal = AbortSignal.timeout(timeouts.queryMs);
    let hasAnswered = false;
    do {
      const found = await ask(begin(order, transaction), signal);
      if (found.outcome === 'settled') return { ...found, payer };
      hasAnswered ||= found.outcome !== 'unknown' || (await nodeAnswers(transaction, signal));
      if (found.outcome === 'failed') break;
      // A buyer whose facilitator may be believed does not wait for our node.
      if (!hasAnswered && takesUnchecked) break;
      await pause(pollMs, signal, { keepsAlive: true });
    } while (!signal.aborted);
    return hasAnswered
      ? { outcome: 'unknown', reason: 'settlement_not_found', transaction }
      : { ...claimed, isUnchecked: true };
  };

  /** A facilitator that refuses may have settled all the same, so the chain has the last word where it can be asked. */
  const confirmFailed = async (
    order: PaymentOrder,
    claimed: SettleOutcome & { outcome: 'failed' },
  ): Promise<SettleOutcome> => {
    const found = await ask(begin(order, null), AbortSignal.timeout(timeouts.queryMs));
    switch (found.outcome) {
      case 'settled':
        return { ...found, payer: null };
      case 'failed':
      case 'open':
        // Nothing was sent, and the chain has seen nothing.
        return claimed;
      case 'unknown':
        return { outcome: 'unknown', reason: claimed.reason, transaction: null };
    }
  };

  return {
    find: (payment, outer) => {
      const signal = AbortSignal.any([outer, AbortSignal.timeout(timeouts.queryMs)]);
      return ask(payment, signal);
    },
    confirm: (order, claimed) => {
      switch (claimed.outcome) {
        case 'settled':
          return confirmSettled(order, claimed);
        case 'failed':
          return confirmFailed(order, claimed);
        case 'unavailable':
        case 'unknown':
          return Promise.resolve(claimed);
      }
    },
  };
};

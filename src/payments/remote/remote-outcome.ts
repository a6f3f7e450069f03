import type { PaymentNetwork } from '../core/networks.ts';
import { createEvmChain } from '../evm/evm-chain.ts';
import type {
  BegunPayment,
  FacilitatorTimeouts,
  FoundOutcome,
  PaymentOrder,
  SettleOutcome,
} from '../core/facilitator.ts';
import { createJsonRpc, RpcOutage, RpcRefusal } from '../core/json-rpc.ts';
import { createSolanaChain, isVerdict } from '../solana/solana-chain.ts';
import { waitFor } from '../core/wait.ts';

/** What the chain says of payments that facilitators elsewhere settle. */
export interface RemoteOutcome {
  /** Rejects never; `unknown` when the chain does not answer. */
  find(payment: BegunPayment, signal: AbortSignal): Promise<FoundOutcome>;
  /** The outcome of a settlement of which a facilitator said `claimed`. */
  confirm(order: PaymentOrder, claimed: SettleOutcome): Promise<SettleOutcome>;
}

export interface RemoteOutcomeOptions {
  network: PaymentNetwork;
  rpcUrl: string;
  timeouts: FacilitatorTimeouts;
  /** Whether the word of a facilitator may count while no node answers. */
  takesUnchecked: boolean;
  /** Epoch milliseconds. */
  now: () => number;
}

/** `other`: a transaction of that name is there, or can be, that is not this payment. */
type Sighting = 'this' | 'other' | 'absent' | 'unanswered';

/** The node asked may be some blocks behind the facilitator's. */
const pollMs = 500;

export const createRemoteOutcome = (options: RemoteOutcomeOptions): RemoteOutcome => {
  const { network, timeouts, takesUnchecked, now } = options;
  const rpc = createJsonRpc({ url: options.rpcUrl, timeoutMs: timeouts.rpcMs });

  const look = async (
    { payload: { payload } }: PaymentOrder,
    { transaction, signal }: { transaction: string; signal: AbortSignal },
  ): Promise<Sighting> => {
    if (!('transaction' in payload))
      return (await createEvmChain(rpc, signal).getReceipt(transaction)) === null ? 'absent' : 'this';
    const { readSolanaTransaction } = await import('../solana/solana-transaction.ts');
    const { sightSolana } = await import('../solana/solana-sighting.ts');
    const { message } = readSolanaTransaction(payload.transaction);
    return sightSolana(createSolanaChain(rpc, signal), { signature: transaction, message });
  };

  const sight = async (
    order: PaymentOrder,
    named: { transaction: string; signal: AbortSignal },
  ): Promise<Sighting> => {
    try {
      return await look(order, named);
    } catch (error) {
      // What the node did not say is nothing; what it finds impossible, or nobody can read, is none of ours.
      const isSilence = error instanceof RpcOutage || (error instanceof RpcRefusal && !isVerdict(error));
      return isSilence ? 'unanswered' : 'other';
    }
  };

  /** Asks for a payment under a name that somebody may have given its transaction: a hint, believed once it is seen. */
  const ask = async (payment: BegunPayment, signal: AbortSignal): Promise<FoundOutcome> => {
    const { askChain } = await import('../core/ask-chain.ts');
    const question = { network, rpc, signal, now: now() };
    const found = await askChain(payment, question);
    // That a transaction failed which somebody else named proves nothing of others that may carry the payment.
    return found.outcome === 'failed' && payment.transaction !== null
      ? askChain({ ...payment, transaction: null }, question)
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
      hasAnswered ||=
        found.outcome !== 'unknown' || (await sight(order, { transaction, signal })) !== 'unanswered';
      if (found.outcome === 'failed') break;
      // A buyer whose facilitator may be believed does not wait for our node.
      if (!hasAnswered && takesUnchecked) break;
    } while (await waitFor(pollMs, signal));
    return hasAnswered
      ? { outcome: 'unknown', reason: 'settlement_not_found', transaction }
      : { ...claimed, isUnchecked: true };
  };

  /** A facilitator that says no may have settled all the same: the chain, where it can be asked, has the last word. */
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
        // Refused before anything was sent, and the chain has seen nothing of it.
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

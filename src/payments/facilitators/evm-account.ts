import { keccak256, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { EvmChain } from './evm-chain.ts';
import { RpcRefusal } from './json-rpc.ts';
import type { OutgoingTransaction } from './facilitator.ts';

export interface EvmCall {
  to: Hex;
  data: Hex;
  gas: bigint;
  /** Wei a unit of gas. */
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

export interface EvmSending {
  chain: EvmChain;
  signal: AbortSignal;
  beforeBroadcast: (outgoing: OutgoingTransaction) => Promise<void>;
}

/** `accepted`: a node has it. `refused`: the node asked does not take it. `uncertain`: no usable answer. */
export type BroadcastResult = 'accepted' | 'refused' | 'uncertain';

export interface EvmSent {
  transaction: string;
  result: BroadcastResult;
}

/** One funded account that sends transactions, one at a time. */
export interface EvmAccount {
  readonly address: Hex;
  /**
   * Signs, hands hash and raw transaction to `beforeBroadcast`, and only then sends. Throws RpcOutage or
   * RpcRefusal when it failed before anything was signed, AccountBusy, the signal's reason, and whatever
   * `beforeBroadcast` throws.
   */
  send(call: EvmCall, sending: EvmSending): Promise<EvmSent & { transaction: Hex }>;
  /** Sends a transaction again that was signed earlier; `dead` when its place was taken and it can never land. */
  resend(transaction: string, rawTransaction: string, sending: EvmSending): Promise<BroadcastResult | 'dead'>;
  /** Asks the chain for the next nonce again: a transaction was not seen to land. */
  forgetNonce(): void;
}

/** Too many settlements wait for this account. */
class AccountBusy extends Error {
  override readonly name = 'AccountBusy';
}

const maxWaiting = 500;
const maxSignatures = 3;
const alreadyKnown = /already (?:known|imported|exists)|known transaction/i;
const nonceTaken = /nonce (?:is )?too low|invalid nonce|nonce has already been used/i;
const placeTaken = /replacement (?:transaction|fee)|underpriced/i;

const broadcast = async (
  chain: EvmChain,
  rawTransaction: string,
): Promise<BroadcastResult | 'nonce' | 'place'> => {
  try {
    await chain.sendRaw(rawTransaction);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof RpcRefusal)) return 'uncertain';
    if (alreadyKnown.test(error.message)) return 'accepted';
    if (nonceTaken.test(error.message)) return 'nonce';
    if (placeTaken.test(error.message)) return 'place';
    return 'refused';
  }
};

const createQueue = () => {
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (waiting >= maxWaiting) throw new AccountBusy('too many settlements are waiting');
    waiting += 1;
    const mine = last.then(task);
    last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      waiting -= 1;
    }
  };
};

export const createEvmAccount = (options: { privateKey: Hex; chainId: number }): EvmAccount => {
  const account = privateKeyToAccount(options.privateKey);
  const inTurn = createQueue();
  let nextNonce: number | null = null;
  /** Counts the reasons to doubt `nextNonce`, so that a sending under way does not restore what was in doubt. */
  let doubts = 0;

  const sign = async (call: EvmCall, nonce: number) => {
    const raw = await account.signTransaction({ type: 'eip1559', chainId: options.chainId, nonce, ...call });
    return { raw, transaction: keccak256(raw) };
  };

  const sendNow = async (call: EvmCall, sending: EvmSending): Promise<EvmSent & { transaction: Hex }> => {
    const { chain, signal, beforeBroadcast } = sending;
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      const doubtsBefore = doubts;
      const nonce = nextNonce ?? (await chain.getNonce(account.address));
      const { raw, transaction } = await sign(call, nonce);
      signal.throwIfAborted();
      await beforeBroadcast({ transaction, rawTransaction: raw, facilitator: null });
      nextNonce = null;
      const result = await broadcast(chain, raw);
      if (result === 'accepted' && doubts === doubtsBefore) nextNonce = nonce + 1;
      if (result !== 'nonce' && result !== 'place') return { transaction, result };
      // Another sender of this account was faster, so this one was not taken in.
      if (attempt === maxSignatures) return { transaction, result: 'refused' };
    }
  };

  return {
    address: account.address,
    send: (call, sending) => inTurn(() => sendNow(call, sending)),
    resend: (transaction, rawTransaction, { chain, signal, beforeBroadcast }) =>
      inTurn(async () => {
        signal.throwIfAborted();
        await beforeBroadcast({ transaction, rawTransaction, facilitator: null });
        nextNonce = null;
        const result = await broadcast(chain, rawTransaction);
        if (result === 'place') return 'refused';
        return result === 'nonce' ? 'dead' : result;
      }),
    forgetNonce: () => {
      doubts += 1;
      nextNonce = null;
    },
  };
};

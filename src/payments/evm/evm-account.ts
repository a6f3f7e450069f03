import { setTimeout as sleep } from 'node:timers/promises';
import { keccak256, parseTransaction, recoverTransactionAddress, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { EvmChain } from './evm-chain.ts';
import type { EvmFees } from './evm-fees.ts';
import { RpcRefusal } from '../core/json-rpc.ts';
import type { OutgoingTransaction } from '../core/facilitator.ts';
import type { SenderTurn } from '../core/sender-turn.ts';

export interface EvmCall extends EvmFees {
  to: Hex;
  data: Hex;
  gas: bigint;
}

/** A transaction of this account, read from its raw form. */
export interface SignedCall extends EvmCall {
  nonce: number;
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
  /**
   * Sends the same call in the same place with other fees, written down first like any other; `dead` when that place
   * was taken, perhaps by the transaction that should be replaced.
   */
  replace(
    call: SignedCall,
    sending: EvmSending,
  ): Promise<{ transaction: string; result: BroadcastResult | 'dead' }>;
  /**
   * Sees to it that nothing missing keeps the transaction at `nonce` from its turn: puts empty ones into the places
   * before it that the node's pool has nothing for. `isStuck`: also into those whose transactions offer too little. A
   * settlement that loses its place so is settled anew when it is asked for. Throws RpcOutage or RpcRefusal.
   */
  clearWay(
    nonce: number,
    options: Pick<EvmSending, 'chain' | 'signal'> & { fees: EvmFees; isStuck: boolean },
  ): Promise<void>;
  /** Asks the chain for the next nonce again: a transaction was not seen to land. */
  forgetNonce(): void;
}

/** Too many settlements wait for this account. */
class AccountBusy extends Error {
  override readonly name = 'AccountBusy';
}

const maxWaiting = 500;
const maxSignatures = 3;
const maxFillers = 32;
/** What a transfer of nothing costs on every chain. */
const emptyCallGas = 21_000n;
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

/** Throws for bytes that are no transaction of ours. */
export const readSignedCall = (rawTransaction: string): SignedCall => {
  const { to, data, gas, nonce, maxFeePerGas, maxPriorityFeePerGas } = parseTransaction(
    `0x${rawTransaction.slice(2)}`,
  );
  if (!to || gas === undefined || maxFeePerGas === undefined)
    throw new TypeError('not a transaction of this account');
  return {
    to,
    data: data ?? '0x',
    gas,
    // RLP writes zero as nothing.
    nonce: nonce ?? 0,
    maxFeePerGas,
    maxPriorityFeePerGas: maxPriorityFeePerGas ?? 0n,
  };
};

/** Whose transaction it is, of the one type that is signed here. Rejects for bytes that are none. */
export const readSender = (rawTransaction: string): Promise<Hex> =>
  recoverTransactionAddress({ serializedTransaction: `0x02${rawTransaction.slice(4)}` });

/** So many of this process's transactions in one turn; then others that wait for the account come in between. */
const mostInATurn = 5;
/** Those who wait look this often whether it is their turn. */
const breakMs = 50;

/** One task at a time, in this process and, by the turn, among all that share the account. */
const createQueue = (options: { turn: SenderTurn; patienceMs: number; onBreak: () => void }) => {
  const { turn, patienceMs, onBreak } = options;
  let waiting = 0;
  let doneInTurn = 0;
  let last: Promise<unknown> = Promise.resolve();

  const takeTurn = async <T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> => {
    const { isKept } = await turn.take({ signal, patienceMs });
    // Somebody else may have sent since: the place that would have been next may be taken.
    if (!isKept) onBreak();
    return task();
  };
  const endTurn = async (): Promise<void> => {
    doneInTurn += 1;
    if (waiting > 0 && doneInTurn < mostInATurn) return;
    doneInTurn = 0;
    await turn.end();
    if (waiting > 0) await sleep(breakMs);
  };
  return async <T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> => {
    if (waiting >= maxWaiting) throw new AccountBusy('too many settlements are waiting');
    waiting += 1;
    const mine = last.then(() => takeTurn(signal, task));
    // The caller need not wait for the turn's end, and the next task does.
    last = mine
      .catch(() => undefined)
      .then(() => {
        waiting -= 1;
        return endTurn();
      });
    return mine;
  };
};

export const createEvmAccount = (options: {
  privateKey: Hex;
  chainId: number;
  /** Of the sender that is named by its CAIP-2 chain and its address in lower case. */
  turnOf: (sender: string) => SenderTurn;
  /** How long to wait for others that send from it. */
  patienceMs: number;
}): EvmAccount => {
  const account = privateKeyToAccount(options.privateKey);
  let nextNonce: number | null = null;
  /** Counts the reasons to doubt `nextNonce`, so that a sending under way does not restore what was in doubt. */
  let doubts = 0;
  /** Up to which of them the chain was asked twice: the first answer may be a gap, with later places still taken. */
  let doubtsCleared = 0;

  const inTurn = createQueue({
    turn: options.turnOf(`eip155:${options.chainId}:${account.address.toLowerCase()}`),
    patienceMs: options.patienceMs,
    onBreak: () => {
      nextNonce = null;
    },
  });

  const sign = async ({ nonce, ...call }: SignedCall) => {
    const raw = await account.signTransaction({ type: 'eip1559', chainId: options.chainId, nonce, ...call });
    return { raw, transaction: keccak256(raw) };
  };

  const sendNow = async (call: EvmCall, sending: EvmSending): Promise<EvmSent & { transaction: Hex }> => {
    const { chain, signal, beforeBroadcast } = sending;
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      const doubtsBefore = doubts;
      const nonce = nextNonce ?? (await chain.getNonce(account.address, 'pending'));
      const { raw, transaction } = await sign({ ...call, nonce });
      signal.throwIfAborted();
      await beforeBroadcast({ transaction, rawTransaction: raw, facilitator: null });
      nextNonce = null;
      const result = await broadcast(chain, raw);
      if (result === 'accepted' && doubtsCleared === doubtsBefore && doubts === doubtsBefore)
        nextNonce = nonce + 1;
      doubtsCleared = doubtsBefore;
      if (result !== 'nonce' && result !== 'place') return { transaction, result };
      // Another sender of this account was faster, so this one was not taken in.
      if (attempt === maxSignatures) return { transaction, result: 'refused' };
    }
  };

  return {
    address: account.address,
    send: (call, sending) => inTurn(sending.signal, () => sendNow(call, sending)),
    resend: (transaction, rawTransaction, { chain, signal, beforeBroadcast }) =>
      inTurn(signal, async () => {
        signal.throwIfAborted();
        await beforeBroadcast({ transaction, rawTransaction, facilitator: null });
        nextNonce = null;
        const result = await broadcast(chain, rawTransaction);
        if (result === 'place') return 'refused';
        return result === 'nonce' ? 'dead' : result;
      }),
    replace: (call, { chain, signal, beforeBroadcast }) =>
      inTurn(signal, async () => {
        const { raw, transaction } = await sign(call);
        signal.throwIfAborted();
        await beforeBroadcast({ transaction, rawTransaction: raw, facilitator: null });
        nextNonce = null;
        const result = await broadcast(chain, raw);
        if (result === 'place') return { transaction, result: 'refused' };
        return { transaction, result: result === 'nonce' ? 'dead' : result };
      }),
    clearWay: (nonce, { chain, signal, fees, isStuck }) =>
      inTurn(signal, async () => {
        let place = await chain.getNonce(account.address, isStuck ? 'latest' : 'pending');
        if (place >= nonce) return;
        nextNonce = null;
        for (let filled = 0; place < nonce && filled < maxFillers; filled += 1) {
          const empty = {
            to: account.address,
            data: '0x',
            gas: emptyCallGas,
            ...fees,
            nonce: place,
          } as const;
          // What is in that place after all stays there, unless it offers less.
          await broadcast(chain, (await sign(empty)).raw);
          const next = isStuck ? place + 1 : await chain.getNonce(account.address, 'pending');
          place = Math.max(place + 1, next);
        }
      }),
    forgetNonce: () => {
      doubts += 1;
      nextNonce = null;
    },
  };
};

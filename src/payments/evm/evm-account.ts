import { setTimeout as sleep } from 'node:timers/promises';
import { keccak256, parseTransaction, recoverTransactionAddress, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { OutgoingTransaction } from '../core/facilitator.ts';
import { RpcRefusal } from '../core/json-rpc.ts';
import type { AccountLease } from '../core/network-family.ts';
import type { EvmChain, EvmFees } from './evm-chain.ts';

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

/** `accepted`: a node has it. `refused`: the node does not take it. `uncertain`: the node gave no usable answer. */
export type BroadcastResult = 'accepted' | 'refused' | 'uncertain';

export interface EvmSent {
  transaction: string;
  result: BroadcastResult;
}

/** One funded account that sends transactions, one at a time. */
export interface EvmAccount {
  readonly address: Hex;
  /**
   * Signs, passes hash and raw transaction to `beforeBroadcast`, and only then sends. Throws RpcOutage or RpcRefusal
   * when it failed before anything was signed, AccountBusy, the signal's reason, and the errors of `beforeBroadcast`.
   */
  send(call: EvmCall, sending: EvmSending): Promise<EvmSent & { transaction: Hex }>;
  /** Sends a transaction again that was signed earlier. `dead`: its nonce is used, so it can never land. */
  resend(transaction: string, rawTransaction: string, sending: EvmSending): Promise<BroadcastResult | 'dead'>;
  /**
   * Sends the same call with the same nonce and other fees, after `beforeBroadcast` like any other. `dead`: the nonce
   * is used, perhaps by the transaction that should be replaced.
   */
  replace(
    call: SignedCall,
    sending: EvmSending,
  ): Promise<{ transaction: string; result: BroadcastResult | 'dead' }>;
  /**
   * Sends empty transactions for the nonces before `nonce` that the node's pool lacks, so that the transaction at
   * `nonce` can be mined. `isStuck`: also for nonces whose transactions offer too little. A settlement that loses its
   * nonce this way is signed again at the next request. Throws RpcOutage or RpcRefusal.
   */
  fillGap(
    nonce: number,
    options: Pick<EvmSending, 'chain' | 'signal'> & { fees: EvmFees; isStuck: boolean },
  ): Promise<void>;
  /** Makes the next sending ask the chain for the nonce: a transaction was not seen to land. */
  forgetNonce(): void;
}

/** Too many settlements wait for this account. */
class AccountBusy extends Error {
  override readonly name = 'AccountBusy';
}

const maxWaiting = 500;
const maxSignatures = 3;
const maxFillers = 32;
/** The cost of a transfer of nothing on every chain. */
const emptyCallGas = 21_000n;
const alreadyKnown = /already (?:known|imported|exists)|known transaction/i;
const nonceUsed = /nonce (?:is )?too low|invalid nonce|nonce has already been used/i;
const nonceInPool = /replacement (?:transaction|fee)|underpriced/i;

const broadcast = async (
  chain: EvmChain,
  rawTransaction: string,
): Promise<BroadcastResult | 'nonce_used' | 'nonce_in_pool'> => {
  try {
    await chain.sendRaw(rawTransaction);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof RpcRefusal)) return 'uncertain';
    if (alreadyKnown.test(error.message)) return 'accepted';
    if (nonceUsed.test(error.message)) return 'nonce_used';
    if (nonceInPool.test(error.message)) return 'nonce_in_pool';
    return 'refused';
  }
};

/** Reads a transaction that an account of ours signed. Throws for other bytes. */
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

/** Finds the sender of a transaction of the type that is signed here. Rejects for other bytes. */
export const readSender = (rawTransaction: string): Promise<Hex> =>
  recoverTransactionAddress({ serializedTransaction: `0x02${rawTransaction.slice(4)}` });

/** After so many transactions the lease is released, so that other processes get the account. */
const maxInALease = 5;
/** Longer than other processes wait between two attempts at the lease. */
const breakMs = 50;

/** Runs one task at a time: in this process, and by the lease among all processes that share the account. */
const createQueue = (options: { lease: AccountLease; waitMs: number; onBreak: () => void }) => {
  const { lease, waitMs, onBreak } = options;
  let waiting = 0;
  let doneInLease = 0;
  let last: Promise<unknown> = Promise.resolve();

  const runInLease = async <T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> => {
    const { isKept } = await lease.take({ signal, waitMs });
    // Another process may have sent since, so the next nonce may be used.
    if (!isKept) onBreak();
    return task();
  };
  const endTask = async (): Promise<void> => {
    doneInLease += 1;
    if (waiting > 0 && doneInLease < maxInALease) return;
    doneInLease = 0;
    await lease.release();
    if (waiting > 0) await sleep(breakMs);
  };
  return async <T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> => {
    if (waiting >= maxWaiting) throw new AccountBusy('too many settlements are waiting');
    waiting += 1;
    const mine = last.then(() => runInLease(signal, task));
    // The next task waits for the lease, and the caller need not.
    last = mine
      .catch(() => undefined)
      .then(() => {
        waiting -= 1;
        return endTask();
      });
    return mine;
  };
};

export const createEvmAccount = (options: {
  privateKey: Hex;
  chainId: number;
  /** Returns the lease of an account, named by its CAIP-2 chain and its address in lower case. */
  accountLeaseOf: (account: string) => AccountLease;
  /** The longest wait for other processes that send from the account. */
  waitMs: number;
}): EvmAccount => {
  const account = privateKeyToAccount(options.privateKey);
  let nextNonce: number | null = null;
  /** Counts the reasons to doubt `nextNonce`, so that a sending under way does not restore a doubted one. */
  let doubts = 0;
  /** The doubts after which the chain was asked twice: the first answer may be in a gap, below nonces that are used. */
  let doubtsCleared = 0;

  const enqueue = createQueue({
    lease: options.accountLeaseOf(`eip155:${options.chainId}:${account.address.toLowerCase()}`),
    waitMs: options.waitMs,
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
      if (result !== 'nonce_used' && result !== 'nonce_in_pool') return { transaction, result };
      // Another sender of this account was faster, so the node did not take this transaction.
      if (attempt === maxSignatures) return { transaction, result: 'refused' };
    }
  };

  /** Sends a transaction whose nonce is given. */
  const sendSigned = async (
    { transaction, raw }: { transaction: string; raw: string },
    { chain, signal, beforeBroadcast }: EvmSending,
  ): Promise<BroadcastResult | 'dead'> => {
    signal.throwIfAborted();
    await beforeBroadcast({ transaction, rawTransaction: raw, facilitator: null });
    nextNonce = null;
    const result = await broadcast(chain, raw);
    if (result === 'nonce_in_pool') return 'refused';
    return result === 'nonce_used' ? 'dead' : result;
  };

  return {
    address: account.address,
    send: (call, sending) => enqueue(sending.signal, () => sendNow(call, sending)),
    resend: (transaction, rawTransaction, sending) =>
      enqueue(sending.signal, () => sendSigned({ transaction, raw: rawTransaction }, sending)),
    replace: (call, sending) =>
      enqueue(sending.signal, async () => {
        const signed = await sign(call);
        return { transaction: signed.transaction, result: await sendSigned(signed, sending) };
      }),
    fillGap: (nonce, { chain, signal, fees, isStuck }) =>
      enqueue(signal, async () => {
        let next = await chain.getNonce(account.address, isStuck ? 'latest' : 'pending');
        if (next >= nonce) return;
        nextNonce = null;
        for (let filled = 0; next < nonce && filled < maxFillers; filled += 1) {
          const empty = { to: account.address, data: '0x', gas: emptyCallGas, ...fees, nonce: next } as const;
          // A transaction that has this nonce after all stays, unless it offers less.
          await broadcast(chain, (await sign(empty)).raw);
          const following = isStuck ? next + 1 : await chain.getNonce(account.address, 'pending');
          next = Math.max(next + 1, following);
        }
      }),
    forgetNonce: () => {
      doubts += 1;
      nextNonce = null;
    },
  };
};

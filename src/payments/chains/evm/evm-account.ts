import { keccak256, parseTransaction, recoverTransactionAddress, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { OutgoingTransaction } from '../core/facilitator.ts';
import { RpcRefusal } from '../core/json-rpc.ts';
import type { AccountLease } from '../core/network-family.ts';
import type { EvmChain, EvmFees } from './evm-chain.ts';
import { setTimeout as sleep } from 'node:timers/promises';

const maxWaiting = 500;
/** The transactions of one lease. Then other processes get the account. */
const maxInALease = 5;
/** Longer than other processes wait between two attempts at the lease. */
const breakMs = 50;

/**
 * Runs one task at a time: in this process, and by the lease among all processes that share the account. `onBreak` is
 * called before a task when another process may have sent in between. Throws when too many tasks wait.
 */
const createAccountQueue = (options: { lease: AccountLease; waitMs: number; onBreak: () => void }) => {
  const { lease, waitMs, onBreak } = options;
  let waiting = 0;
  let doneInLease = 0;
  let last: Promise<unknown> = Promise.resolve();

  const runInLease = async <T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> => {
    const { isKept } = await lease.take({ signal, waitMs });
    if (!isKept) onBreak();
    return task();
  };
  const endTask = async (): Promise<void> => {
    waiting -= 1;
    doneInLease += 1;
    if (waiting > 0 && doneInLease < maxInALease) return;
    doneInLease = 0;
    await lease.release();
    if (waiting > 0) await sleep(breakMs);
  };
  return async <T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> => {
    if (waiting >= maxWaiting) throw new Error('too many settlements are waiting');
    waiting += 1;
    const mine = last.then(() => runInLease(signal, task));
    // The next task waits for the lease, and the caller need not.
    last = mine.then(endTask, endTask);
    return mine;
  };
};

interface EvmCall extends EvmFees {
  to: Hex;
  data: Hex;
  gas: bigint;
}

interface SignedCall extends EvmCall {
  nonce: number;
}

export interface EvmSending {
  chain: EvmChain;
  signal: AbortSignal;
  beforeBroadcast: (outgoing: OutgoingTransaction) => Promise<void>;
}

/** `accepted`: a node has it. `refused`: the node does not take it. `uncertain`: the node gave no usable answer. */
type BroadcastResult = 'accepted' | 'refused' | 'uncertain';

export interface EvmSent {
  transaction: string;
  result: BroadcastResult;
}

interface Signed {
  transaction: Hex;
  raw: string;
}

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

/**
 * After a transaction was not seen to land, so many sendings ask the chain for their nonces: one may be under way, and
 * the next answer may be in a gap, below nonces that are used.
 */
const doubtfulSendings = 2;

/** The keys of an account, and the next nonce as far as it is known. */
interface Signer {
  address: Hex;
  sign: (call: SignedCall) => Promise<Signed>;
  nextNonce: number | null;
  /** So many of the next sendings ask the chain, whatever they find. */
  doubtful: number;
}

/** Passes a transaction to `beforeBroadcast`, which stores it, and only then sends it. */
const storeAndSend = async (
  signer: Signer,
  { transaction, raw }: { transaction: string; raw: string },
  { chain, signal, beforeBroadcast }: EvmSending,
) => {
  signal.throwIfAborted();
  await beforeBroadcast({ transaction, rawTransaction: raw, facilitator: null });
  signer.nextNonce = null;
  return broadcast(chain, raw);
};

const sendNext = async (signer: Signer, call: EvmCall, sending: EvmSending): Promise<EvmSent & Signed> => {
  for (let attempt = 1; ; attempt += 1) {
    sending.signal.throwIfAborted();
    const nonce = signer.nextNonce ?? (await sending.chain.getNonce(signer.address, 'pending'));
    const signed = await signer.sign({ ...call, nonce });
    const result = await storeAndSend(signer, signed, sending);
    if (result === 'accepted' && signer.doubtful === 0) signer.nextNonce = nonce + 1;
    signer.doubtful = Math.max(0, signer.doubtful - 1);
    if (result !== 'nonce_used' && result !== 'nonce_in_pool') return { ...signed, result };
    // Another sender of this account was faster, so the node did not take this transaction.
    if (attempt === maxSignatures) return { ...signed, result: 'refused' };
  }
};

/** Sends a transaction whose nonce is given. `dead`: that nonce is used, so it can never land. */
const sendSigned = async (...sending: Parameters<typeof storeAndSend>): Promise<BroadcastResult | 'dead'> => {
  const result = await storeAndSend(...sending);
  if (result === 'nonce_in_pool') return 'refused';
  return result === 'nonce_used' ? 'dead' : result;
};

/** A gap in the nonces of an account. `isStuck`: the transactions in it offer too little, and are replaced too. */
interface NonceGap extends Omit<EvmSending, 'beforeBroadcast'> {
  fees: EvmFees;
  isStuck: boolean;
}

const fillGap = async (signer: Signer, end: number, { chain, fees, isStuck }: NonceGap): Promise<void> => {
  const { address, sign } = signer;
  let next = await chain.getNonce(address, isStuck ? 'latest' : 'pending');
  if (next < end) signer.nextNonce = null;
  for (let filled = 0; next < end && filled < maxFillers; filled += 1) {
    const empty = { to: address, data: '0x', gas: emptyCallGas, ...fees, nonce: next } as const;
    // A transaction that has this nonce after all stays, unless it offers less.
    await broadcast(chain, (await sign(empty)).raw);
    next = Math.max(next + 1, isStuck ? 0 : await chain.getNonce(address, 'pending'));
  }
};

export type EvmAccount = ReturnType<typeof createEvmAccount>;

/**
 * One funded account that sends transactions, one at a time. The methods throw RpcOutage or RpcRefusal when they failed
 * before anything was signed, the signal's reason, the errors of `beforeBroadcast`, and when too many settlements wait.
 */
export const createEvmAccount = (options: {
  privateKey: Hex;
  chainId: number;
  accountLeaseOf: (account: string) => AccountLease;
  waitMs: number;
}) => {
  const { chainId, waitMs } = options;
  const account = privateKeyToAccount(options.privateKey);
  const { address } = account;
  const sign = async (call: SignedCall): Promise<Signed> => {
    const raw = await account.signTransaction({ type: 'eip1559', chainId, ...call });
    return { raw, transaction: keccak256(raw) };
  };
  const signer: Signer = { address, sign, nextNonce: null, doubtful: 0 };
  const enqueue = createAccountQueue({
    lease: options.accountLeaseOf(`eip155:${chainId}:${address.toLowerCase()}`),
    waitMs,
    // Another process may have used the nonce.
    onBreak: () => {
      signer.nextNonce = null;
    },
  });
  return {
    address,
    send: (call: EvmCall, sending: EvmSending) =>
      enqueue(sending.signal, () => sendNext(signer, call, sending)),
    resend: (transaction: string, raw: string, sending: EvmSending) =>
      enqueue(sending.signal, () => sendSigned(signer, { transaction, raw }, sending)),
    /** As `resend`, with other fees. Also `dead` when the transaction that should be replaced has landed. */
    replace: (call: SignedCall, sending: EvmSending) =>
      enqueue(sending.signal, async () => {
        const signed = await sign(call);
        return { transaction: signed.transaction, result: await sendSigned(signer, signed, sending) };
      }),
    /**
     * Sends empty transactions for the nonces before `nonce` that the node's pool lacks, so that the transaction at
     * `nonce` can be mined. A settlement that loses its nonce this way is signed again at the next request.
     */
    fillGap: (nonce: number, gap: NonceGap) => enqueue(gap.signal, () => fillGap(signer, nonce, gap)),
    /** Makes the next sendings ask the chain for the nonce: a transaction was not seen to land. */
    doubtNonce: (): void => {
      signer.doubtful = doubtfulSendings;
      signer.nextNonce = null;
    },
  };
};

import { keccak256, parseTransaction, recoverTransactionAddress, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { OutgoingTransaction } from '../core/facilitator.ts';
import { RpcRefusal } from '../core/json-rpc.ts';
import type { AccountLease } from '../core/network-family.ts';
import { createAccountQueue } from './account-queue.ts';
import type { EvmChain, EvmFees } from './evm-chain.ts';

export interface EvmCall extends EvmFees {
  to: Hex;
  data: Hex;
  gas: bigint;
}

/** A transaction of this account, read from its raw form. */
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

/** Remembers the next nonce of an account while nothing speaks against it. */
const createNonceMemory = () => {
  let next: number | null = null;
  /** Counts the reasons to doubt `next`, so that a sending under way does not restore a doubted one. */
  let doubts = 0;
  /** The doubts after which the chain was asked twice: the first answer may be in a gap, below nonces that are used. */
  let doubtsCleared = 0;
  return {
    next: (): number | null => next,
    forget: (): void => {
      next = null;
    },
    doubt: (): void => {
      doubts += 1;
      next = null;
    },
    /** Returns a function that ends the sending. It takes the nonce that a node accepted; null for none. */
    beginSending: () => {
      const before = doubts;
      return (accepted: number | null): void => {
        if (accepted !== null && doubtsCleared === before && doubts === before) next = accepted + 1;
        doubtsCleared = before;
      };
    },
  };
};

const createTransactionSigner = (privateKey: Hex, chainId: number) => {
  const account = privateKeyToAccount(privateKey);
  return {
    address: account.address,
    sign: async (call: SignedCall): Promise<Signed> => {
      const raw = await account.signTransaction({ type: 'eip1559', chainId, ...call });
      return { raw, transaction: keccak256(raw) };
    },
  };
};

/** A gap in the nonces of an account. `isStuck`: the transactions in it offer too little, and are replaced too. */
interface NonceGap extends Omit<EvmSending, 'beforeBroadcast'> {
  fees: EvmFees;
  isStuck: boolean;
}

/** Sends empty transactions from `next` on to the nonce `end`. */
const sendFillers = async (
  { address, sign }: ReturnType<typeof createTransactionSigner>,
  { next: first, end }: { next: number; end: number },
  { chain, fees, isStuck }: NonceGap,
): Promise<void> => {
  let next = first;
  for (let filled = 0; next < end && filled < maxFillers; filled += 1) {
    const empty = { to: address, data: '0x', gas: emptyCallGas, ...fees, nonce: next } as const;
    // A transaction that has this nonce after all stays, unless it offers less.
    await broadcast(chain, (await sign(empty)).raw);
    next = Math.max(next + 1, isStuck ? 0 : await chain.getNonce(address, 'pending'));
  }
};

export type EvmAccount = ReturnType<typeof createEvmAccount>;

/**
 * One funded account that sends transactions, one at a time. Each is signed, its hash and bytes are passed to
 * `beforeBroadcast`, and only then it is sent. The methods throw RpcOutage or RpcRefusal when they failed before anything
 * was signed, the signal's reason, the errors of `beforeBroadcast`, and when too many settlements wait.
 */
export const createEvmAccount = (options: {
  privateKey: Hex;
  chainId: number;
  /** Returns the lease of an account, named by its CAIP-2 chain and its address in lower case. */
  accountLeaseOf: (account: string) => AccountLease;
  /** The longest wait for other processes that send from the account. */
  waitMs: number;
}) => {
  const { chainId } = options;
  const signer = createTransactionSigner(options.privateKey, chainId);
  const { address, sign } = signer;
  const nonces = createNonceMemory();
  const enqueue = createAccountQueue({
    lease: options.accountLeaseOf(`eip155:${chainId}:${address.toLowerCase()}`),
    waitMs: options.waitMs,
    // The next nonce may be used.
    onBreak: nonces.forget,
  });

  const storeAndSend = async (
    { transaction, raw }: { transaction: string; raw: string },
    { chain, signal, beforeBroadcast }: EvmSending,
  ) => {
    signal.throwIfAborted();
    await beforeBroadcast({ transaction, rawTransaction: raw, facilitator: null });
    nonces.forget();
    return broadcast(chain, raw);
  };
  const sendNext = async (call: EvmCall, sending: EvmSending): Promise<EvmSent & { transaction: Hex }> => {
    for (let attempt = 1; ; attempt += 1) {
      sending.signal.throwIfAborted();
      const endSending = nonces.beginSending();
      const nonce = nonces.next() ?? (await sending.chain.getNonce(address, 'pending'));
      const signed = await sign({ ...call, nonce });
      const result = await storeAndSend(signed, sending);
      endSending(result === 'accepted' ? nonce : null);
      const { transaction } = signed;
      if (result !== 'nonce_used' && result !== 'nonce_in_pool') return { transaction, result };
      // Another sender of this account was faster, so the node did not take this transaction.
      if (attempt === maxSignatures) return { transaction, result: 'refused' };
    }
  };
  /** Sends a transaction whose nonce is given. `dead`: that nonce is used, so it can never land. */
  const sendSigned = async (
    signed: { transaction: string; raw: string },
    sending: EvmSending,
  ): Promise<BroadcastResult | 'dead'> => {
    const result = await storeAndSend(signed, sending);
    if (result === 'nonce_in_pool') return 'refused';
    return result === 'nonce_used' ? 'dead' : result;
  };

  return {
    address,
    send: (call: EvmCall, sending: EvmSending) => enqueue(sending.signal, () => sendNext(call, sending)),
    /** Sends a transaction again that was signed earlier. */
    resend: (transaction: string, raw: string, sending: EvmSending) =>
      enqueue(sending.signal, () => sendSigned({ transaction, raw }, sending)),
    /**
     * Sends the same call with the same nonce and other fees. It is `dead` too when the transaction that should be
     * replaced has landed.
     */
    replace: (call: SignedCall, sending: EvmSending) =>
      enqueue(sending.signal, async () => {
        const signed = await sign(call);
        return { transaction: signed.transaction, result: await sendSigned(signed, sending) };
      }),
    /**
     * Sends empty transactions for the nonces before `nonce` that the node's pool lacks, so that the transaction at
     * `nonce` can be mined. A settlement that loses its nonce this way is signed again at the next request.
     */
    fillGap: (nonce: number, gap: NonceGap) =>
      enqueue(gap.signal, async () => {
        const next = await gap.chain.getNonce(address, gap.isStuck ? 'latest' : 'pending');
        if (next < nonce) nonces.forget();
        await sendFillers(signer, { next, end: nonce }, gap);
      }),
    /** Makes the next sending ask the chain for the nonce: a transaction was not seen to land. */
    forgetNonce: nonces.doubt,
  };
};

import { concatHex, decodeFunctionResult, encodeFunctionData, type Hex } from 'viem';
import type { FacilitatorEvmSigner } from '@x402/evm';
import { RpcRefusal } from '../core/json-rpc.ts';
import type { SchemeRecord } from '../core/facilitator.ts';
import { readSender, readSignedCall, type EvmAccount, type EvmSending, type EvmSent } from './evm-account.ts';
import type { MinedTransaction } from './evm-authorization.ts';
import { isRevert, readFeeMarket, isOutbid, raiseFees, type EvmChain, type EvmReceipt } from './evm-chain.ts';
import { pause } from '../../../kit/repeat.ts';
import { LRUCache } from 'lru-cache';
import { isSameHex } from './evm-payload.ts';

/** The events of one call of the x402 scheme, whose own answer does not tell chain, contract and proof apart. */
export interface EvmCallRecord extends SchemeRecord {
  /** The message with which the contract refused, and the selector of its error. */
  revert: string | null;
  sent: EvmSent | null;
  receipt: EvmReceipt | null;
}

export const newCallRecord = (): EvmCallRecord => ({
  isOutage: false,
  revert: null,
  sent: null,
  receipt: null,
});

const ampleGas = 250_000n;
/** 0x and four bytes. */
const selectorCharacters = 10;
const firstPollMs = 50;
const maxPollMs = 1_000;

const findMined = async (
  chain: EvmChain,
  transactions: readonly string[],
): Promise<MinedTransaction | null> => {
  for (const transaction of transactions) {
    const receipt = await chain.getReceipt(transaction);
    if (receipt !== null) return { transaction, receipt };
  }
  return null;
};

/** Asks until one of the transactions has a receipt; null when the signal ended the wait. */
export const waitForEvmReceipt = async (
  chain: EvmChain,
  transactions: readonly string[],
  signal: AbortSignal,
): Promise<MinedTransaction | null> => {
  for (let pauseMs = firstPollMs; !signal.aborted; pauseMs = Math.min(pauseMs * 2, maxPollMs)) {
    for (const transaction of transactions) {
      // An outage proves nothing: the transaction was sent, and only the end of the wait decides.
      const mined = await findMined(chain, [transaction]).catch(() => null);
      if (mined !== null) return mined;
    }
    await pause(pauseMs, signal, { keepsAlive: true });
  }
  return null;
};

interface SpendingLimits {
  maxGasCost: bigint;
  /** In gas. An error says nothing about the proof, and ends a settlement before anything is sent. */
  readMaxGas: () => Promise<bigint>;
}

/** Chooses gas and fees. Throws RpcOutage, RpcRefusal, and while gas costs too much, which says nothing about the proof. */
const chooseFees = async (
  chain: EvmChain,
  { maxGasCost, readMaxGas, ...call }: { from: Hex; to: Hex; data: Hex } & SpendingLimits,
) => {
  const [maxGas, { fees }] = await Promise.all([readMaxGas(), readFeeMarket(chain)]);
  const gas = await chain.estimateGas({ ...call, fees }).catch(async (error: unknown) => {
    // A node gives the call no more gas than the account can pay, and a lack of gas may look like the contract's
    // refusal.
    const isShort = isRevert(error) && (await chain.getBalance(call.from)) < ampleGas * fees.maxFeePerGas;
    throw isShort ? new Error('the account cannot pay for any settlement') : error;
  });
  // The transfer would succeed, but its price is not worth it: refused like a revert (code 3).
  if (gas > maxGas) throw new RpcRefusal(3, 'the transfer needs too much gas');
  const roomy = (gas * 5n) / 4n;
  const gasLimit = roomy > maxGas ? maxGas : roomy;
  // The node names the price, and the account pays it: a lying or overloaded node must not empty the account.
  if (gasLimit * fees.maxFeePerGas > maxGasCost) throw new Error('gas costs too much now');
  return { gas: gasLimit, ...fees };
};

/** Creates the signer of one verify or settle call. It writes all events into `record`. */
export const createEvmSigner = (options: {
  account: EvmAccount;
  sending: EvmSending;
  record: EvmCallRecord;
  limits: SpendingLimits | null;
}): FacilitatorEvmSigner => {
  const { account, sending, record, limits } = options;
  const { chain, signal } = sending;
  const from = account.address;

  const noting = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      if (isRevert(error))
        record.revert = `${error.message} ${error.data?.slice(0, selectorCharacters) ?? ''}`;
      else record.isOutage = true;
      throw error;
    }
  };

  return {
    getAddresses: () => [from],
    // Never rejects: the scheme starts this call without waiting for it, and an unhandled rejection would end the
    // process. The record has the outage.
    getCode: ({ address }) => noting(chain.getCode(address)).catch(() => undefined),
    readContract: async ({ address, abi, functionName, args }) => {
      const data = encodeFunctionData({ abi, functionName, args });
      const result = await noting(chain.call({ from, to: address, data }));
      return decodeFunctionResult({ abi, functionName, args, data: result });
    },
    writeContract: async ({ address: to, abi, functionName, args, dataSuffix = '0x' }) => {
      if (limits === null) throw new Error('nothing is to be sent');
      const data = concatHex([encodeFunctionData({ abi, functionName, args }), dataSuffix]);
      const fees = await noting(chooseFees(chain, { from, to, data, ...limits }));
      const sent = await noting(account.send({ to, data, ...fees }, sending));
      record.sent = sent;
      return sent.transaction;
    },
    waitForTransactionReceipt: async ({ hash }) => {
      // A transaction that the node refused is in no pool; there is nothing to wait for.
      if (record.sent?.result !== 'refused')
        record.receipt = (await waitForEvmReceipt(chain, [hash], signal))?.receipt ?? null;
      if (record.receipt === null) throw new Error('no receipt yet');
      return { status: record.receipt.status };
    },
    sendTransaction: () => Promise.reject(new Error('wallets are not deployed here')),
    verifyTypedData: () => Promise.reject(new Error('signatures are checked by the scheme')),
  };
};

/** The most transactions that are remembered. A forgotten one counts as new, and waits longer than it must. */
const maxRemembered = 10_000;

export type TransactionAges = ReturnType<typeof createTransactionAges>;

/** Remembers since when transactions are awaited. For one network; forgotten when the process ends. */
export const createTransactionAges = ({ now }: { now: () => number }) => {
  const firstSeen = new LRUCache<string, number>({ max: maxRemembered });
  /** Returns the milliseconds since a transaction was noted first, and notes it. */
  return (transaction: string): number => {
    const since = firstSeen.peek(transaction) ?? now();
    if (!firstSeen.has(transaction)) firstSeen.set(transaction, since);
    return now() - since;
  };
};

interface EarlierTransaction {
  transaction: string;
  rawTransaction: string;
}

interface ResumeContext {
  account: EvmAccount;
  sending: EvmSending;
  ageMs: TransactionAges;
  maxGasCost: bigint;
}

interface Resent {
  /** The newest first. */
  transactions: readonly [string, ...string[]];
  /** `dead`: none can land any more, unless it has. `abandoned`: one may land, and this gateway cannot help it. */
  result: 'accepted' | 'refused' | 'uncertain' | 'dead' | 'abandoned';
}

/** A transaction with sufficient fees is mined within a few blocks. */
const overdueMs = 60_000;

/**
 * Sends a signed transaction again, and fills the gap of nonces before it. Where the chain asks for more than it
 * offers, sends a replacement with higher fees. Either of the two may land; the contract takes the authorization once.
 */
const sendAgain = async (
  { transaction, rawTransaction }: EarlierTransaction,
  { account, sending, ageMs, maxGasCost }: ResumeContext,
): Promise<Resent> => {
  const { chain, signal } = sending;
  const call = readSignedCall(rawTransaction);
  const market = await readFeeMarket(chain);
  const fees = raiseFees(call, market);
  const isOverdue = ageMs(transaction) >= overdueMs;
  const isUnderpriced = market.baseFeePerGas > call.maxFeePerGas || (isOverdue && isOutbid(call, market));
  const isAffordable = call.gas * fees.maxFeePerGas <= maxGasCost;
  let resent: Resent;
  if (isUnderpriced && isAffordable) {
    const replaced = await account.replace({ ...call, ...fees }, sending);
    resent = { transactions: [replaced.transaction, transaction], result: replaced.result };
  } else {
    const result = await account.resend(transaction, rawTransaction, sending);
    resent = { transactions: [transaction], result };
  }
  // A gap is filled at the usual price: a transaction that another node has there offers no less.
  const gap = { chain, signal, fees: isUnderpriced ? fees : market.fees, isStuck: isUnderpriced };
  if (resent.result !== 'dead' && isAffordable)
    // The wait for the receipt shows whether it worked.
    await account.fillGap(call.nonce, gap).catch(() => undefined);
  return resent;
};

/**
 * Sends a transaction again that another account signed: one that was configured before, or another gateway's. Its
 * nonces are not ours to fill, so a transaction that no node takes, or that is not mined for a while, is abandoned.
 */
const sendForAnother = async (
  { transaction, rawTransaction }: EarlierTransaction,
  { account, sending, ageMs }: ResumeContext,
): Promise<Resent> => {
  const isOverdue = ageMs(transaction) >= overdueMs;
  const result = await account.resend(transaction, rawTransaction, sending);
  const isLost = result === 'refused' || (result === 'accepted' && isOverdue);
  return { transactions: [transaction], result: isLost ? 'abandoned' : result };
};

/**
 * Resumes a transaction that was signed, and perhaps sent, earlier. Null when it can never land, or is another
 * account's and does not land; then the payment can be settled again, as the contract takes an authorization once.
 * Throws RpcOutage, RpcRefusal, the signal's reason, and the errors of `beforeBroadcast`.
 */
export const resumeEvmTransaction = async (
  earlier: EarlierTransaction,
  context: ResumeContext,
): Promise<EvmCallRecord | null> => {
  const { account, sending } = context;
  const toRecord = (
    { transaction, receipt }: MinedTransaction | { transaction: string; receipt: null },
    result: 'accepted' | 'refused' | 'uncertain' = 'accepted',
  ): EvmCallRecord => ({ ...newCallRecord(), sent: { transaction, result }, receipt });

  const landed = await findMined(sending.chain, [earlier.transaction]);
  if (landed !== null) return toRecord(landed);
  const isOurs = isSameHex(await readSender(earlier.rawTransaction), account.address);
  const { transactions, result } = await (isOurs
    ? sendAgain(earlier, context)
    : sendForAnother(earlier, context));
  if (result === 'dead' || result === 'abandoned') {
    const mined = await findMined(sending.chain, transactions);
    return mined && toRecord(mined);
  }
  const mined =
    result === 'refused' ? null : await waitForEvmReceipt(sending.chain, transactions, sending.signal);
  return toRecord(mined ?? { transaction: transactions[0], receipt: null }, result);
};

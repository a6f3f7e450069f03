import { LRUCache } from 'lru-cache';
import { readSender, readSignedCall, type EvmAccount, type EvmSending } from './evm-account.ts';
import type { MinedTransaction } from './evm-authorization.ts';
import { isOutbid, raiseFees, readFeeMarket } from './evm-chain.ts';
import { isSameHex } from './evm-payload.ts';
import { findMined, newCallRecord, waitForEvmReceipt, type EvmCallRecord } from './evm-signer.ts';

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

/** A transaction that an earlier attempt at the settlement signed. */
export interface EarlierTransaction {
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

import { readSender, readSignedCall, type EvmAccount, type EvmSending } from './evm-account.ts';
import { isOutbid, raiseFees, readFeeMarket } from './evm-fees.ts';
import { isSameHex } from './evm-payload.ts';
import { newCallRecord, waitForEvmReceipt, type EvmCallRecord } from './evm-signer.ts';

/** Beyond so many the oldest are forgotten, and seem new: they wait longer than they need. */
const maxRemembered = 10_000;

/** Remembers since when transactions are awaited. For one network; forgotten when the process ends. */
export interface TransactionAges {
  /** Returns the milliseconds since a transaction was noted first, and notes it. */
  ageMs(transaction: string): number;
}

export const createTransactionAges = ({ now }: { now: () => number }): TransactionAges => {
  const firstSeen = new Map<string, number>();
  return {
    ageMs: (transaction) => {
      const since = firstSeen.get(transaction);
      if (since !== undefined) return now() - since;
      const [oldest] = firstSeen.keys();
      if (firstSeen.size >= maxRemembered && oldest !== undefined) firstSeen.delete(oldest);
      firstSeen.set(transaction, now());
      return 0;
    },
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
  ages: TransactionAges;
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
  { account, sending, ages, maxGasCost }: ResumeContext,
): Promise<Resent> => {
  const { chain, signal } = sending;
  const call = readSignedCall(rawTransaction);
  const market = await readFeeMarket(chain);
  const fees = raiseFees(call, market);
  const isOverdue = ages.ageMs(transaction) >= overdueMs;
  const isUnderpriced = market.baseFeePerGas > call.maxFeePerGas || (isOverdue && isOutbid(call, market));
  const isAffordable = call.gas * fees.maxFeePerGas <= maxGasCost;
  const resent: Resent =
    isUnderpriced && isAffordable
      ? await account
          .replace({ ...call, ...fees }, sending)
          .then((replaced) => ({ ...replaced, transactions: [replaced.transaction, transaction] }))
      : {
          transactions: [transaction],
          result: await account.resend(transaction, rawTransaction, sending),
        };
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
  { account, sending, ages }: ResumeContext,
): Promise<Resent> => {
  const isOverdue = ages.ageMs(transaction) >= overdueMs;
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
  const { chain, signal } = context.sending;
  const record = newCallRecord();
  record.receipt = await chain.getReceipt(earlier.transaction);
  if (record.receipt !== null) {
    record.sent = { transaction: earlier.transaction, result: 'accepted' };
    return record;
  }
  const isOurs = isSameHex(await readSender(earlier.rawTransaction), context.account.address);
  const { transactions, result } = await (isOurs
    ? sendAgain(earlier, context)
    : sendForAnother(earlier, context));
  const isOver = result === 'dead' || result === 'abandoned';
  record.sent = { transaction: transactions[0], result: isOver ? 'accepted' : result };
  if (result === 'refused') return record;
  const mined = isOver
    ? await findMined(transactions, context.sending)
    : await waitForEvmReceipt(chain, transactions, signal);
  if (mined === null) return isOver ? null : record;
  record.sent.transaction = mined.transaction;
  record.receipt = mined.receipt;
  return record;
};

const findMined = async (transactions: readonly string[], { chain }: EvmSending) => {
  for (const transaction of transactions) {
    const receipt = await chain.getReceipt(transaction);
    if (receipt !== null) return { transaction, receipt };
  }
  return null;
};

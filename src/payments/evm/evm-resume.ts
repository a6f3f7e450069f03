import { readSender, readSignedCall, type EvmAccount, type EvmSending } from './evm-account.ts';
import { isOutbid, raiseFees, readFeeMarket } from './evm-fees.ts';
import type { EvmSightings } from './evm-sightings.ts';
import { newCallRecord, waitForEvmReceipt, type EvmCallRecord } from './evm-signer.ts';
import { isSameHex } from './evm-transfer-log.ts';

/** What was signed for a settlement earlier. */
export interface EarlierTransaction {
  transaction: string;
  rawTransaction: string;
}

interface ResumeContext {
  account: EvmAccount;
  sending: EvmSending;
  /** Since when this process waits for what. */
  sightings: EvmSightings;
  maxGasCost: bigint;
}

interface Resent {
  /** The newest first. */
  transactions: readonly [string, ...string[]];
  /** `dead`: none of them can land any more, unless it has. `abandoned`: one may, and nobody here can help it. */
  result: 'accepted' | 'refused' | 'uncertain' | 'dead' | 'abandoned';
}

/** A transaction that pays its way is mined within a few blocks. */
const patienceMs = 60_000;

/**
 * Sends once more what was signed, for more where the chain asks for more than it offers, and clears its way. Either of
 * the two may land; the contract takes the authorization once.
 */
const sendOnceMore = async (
  { transaction, rawTransaction }: EarlierTransaction,
  { account, sending, sightings, maxGasCost }: ResumeContext,
): Promise<Resent> => {
  const { chain, signal } = sending;
  const call = readSignedCall(rawTransaction);
  const market = await readFeeMarket(chain);
  const fees = raiseFees(call, market);
  const isOverdue = sightings.ageMs(transaction) >= patienceMs;
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
  // A gap is filled for the usual: what another node has there after all offers no less.
  const way = { chain, signal, fees: isUnderpriced ? fees : market.fees, isStuck: isUnderpriced };
  if (resent.result !== 'dead' && isAffordable)
    // Whether it worked shows in the wait for the receipt.
    await account.clearWay(call.nonce, way).catch(() => undefined);
  return resent;
};

/**
 * Sends once more what another account signed: one that was in use here before, or is elsewhere. Its places are not
 * ours to fill, so what no node takes, or is not mined for a while, is left to itself.
 */
const sendForAnother = async (
  { transaction, rawTransaction }: EarlierTransaction,
  { account, sending, sightings }: ResumeContext,
): Promise<Resent> => {
  const isOverdue = sightings.ageMs(transaction) >= patienceMs;
  const result = await account.resend(transaction, rawTransaction, sending);
  const isLost = result === 'refused' || (result === 'accepted' && isOverdue);
  return { transactions: [transaction], result: isLost ? 'abandoned' : result };
};

/**
 * Goes on with a transaction that was signed, and perhaps sent, earlier: what came of it. Null when it can never land,
 * or is another account's and does not; then the payment can be settled anew, as the contract takes an authorization
 * once. Throws RpcOutage, RpcRefusal, the signal's reason, and what `beforeBroadcast` throws.
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
    ? sendOnceMore(earlier, context)
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

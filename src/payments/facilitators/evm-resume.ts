import { readSignedCall, type EvmAccount, type EvmSending } from './evm-account.ts';
import { raiseFees, readFeeMarket } from './evm-fees.ts';
import { newCallRecord, waitForEvmReceipt, type EvmCallRecord } from './evm-signer.ts';

/** What was signed for a settlement earlier. */
export interface EarlierTransaction {
  transaction: string;
  rawTransaction: string;
}

interface Resent {
  /** The newest first. */
  transactions: readonly [string, ...string[]];
  result: 'accepted' | 'refused' | 'uncertain' | 'dead';
}

/**
 * Sends once more what was signed, for more where the base fee has risen above its offer, and clears its way. Either of
 * the two may land; the contract takes the authorization once.
 */
const sendOnceMore = async (
  { transaction, rawTransaction }: EarlierTransaction,
  { account, sending, maxGasCost }: { account: EvmAccount; sending: EvmSending; maxGasCost: bigint },
): Promise<Resent> => {
  const { chain, signal } = sending;
  const call = readSignedCall(rawTransaction);
  const market = await readFeeMarket(chain);
  const fees = raiseFees(call, market);
  const isUnderpriced = market.baseFeePerGas > call.maxFeePerGas;
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
 * Goes on with a transaction that was signed, and perhaps sent, earlier: what came of it. Null when it can never land.
 * Throws RpcOutage, RpcRefusal, the signal's reason, and what `beforeBroadcast` throws.
 */
export const resumeEvmTransaction = async (
  earlier: EarlierTransaction,
  context: { account: EvmAccount; sending: EvmSending; maxGasCost: bigint },
): Promise<EvmCallRecord | null> => {
  const { chain, signal } = context.sending;
  const record = newCallRecord();
  record.receipt = await chain.getReceipt(earlier.transaction);
  if (record.receipt !== null) {
    record.sent = { transaction: earlier.transaction, result: 'accepted' };
    return record;
  }
  const { transactions, result } = await sendOnceMore(earlier, context);
  record.sent = { transaction: transactions[0], result: result === 'dead' ? 'accepted' : result };
  if (result === 'refused') return record;
  const mined =
    result === 'dead'
      ? await findMined(transactions, context.sending)
      : await waitForEvmReceipt(chain, transactions, signal);
  if (mined === null) return result === 'dead' ? null : record;
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

import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import type { OutgoingTransaction, PaymentOrder, SettleOutcome, VerifyOutcome } from '../core/facilitator.ts';
import { watchBeforeBroadcast } from '../core/local-engine.ts';
import type { LocalEngine, LocalEngineOptions } from '../core/network-family.ts';
import { createEvmAccount, type EvmSending } from './evm-account.ts';
import { chainIdOf, createEvmChain, type EvmChain } from './evm-chain.ts';
import { checkEvmFunds } from './evm-fees.ts';
import { askEvmOutcome, authorizationOf, type EvmOrder } from './evm-outcome.ts';
import { createContractPayers, hasCode, watchPayer, type PayerWatch } from './evm-payer-watch.ts';
import { toEvmPayload } from './evm-payload.ts';
import { createTransactionAges, resumeEvmTransaction, type EarlierTransaction } from './evm-resume.ts';
import { createEvmSigner, newCallRecord, type EvmCallRecord } from './evm-signer.ts';
import { judgeSettlement, refineReason } from './evm-verdict.ts';

/** The reason code of payers whose wallet reverted a settlement lately. */
const restingReason = 'payer_contract_reverted';

/** The rest of a settlement's time is for the chain. */
const maxLeaseWaitMs = 2_000;

const toEvmOrder = ({ payload, requirements }: PaymentOrder): EvmOrder => ({
  payload: toEvmPayload(payload.payload),
  requirements,
});

const hasRaw = (
  earlier: OutgoingTransaction | null,
): earlier is OutgoingTransaction & { transaction: string; rawTransaction: string } =>
  earlier !== null && earlier.transaction !== null && earlier.rawTransaction !== null;

/** Verifies and settles on one EVM chain, paying gas from the account of `privateKey`. */
export const createLocalEvm = (options: LocalEngineOptions): LocalEngine => {
  const { network, privateKey, rpc, timeouts, accountLeaseOf, log, now } = options;
  const account = createEvmAccount({
    privateKey: `0x${privateKey.slice(2)}`,
    chainId: chainIdOf(network.id),
    accountLeaseOf,
    waitMs: Math.min(maxLeaseWaitMs, timeouts.settleMs / 4),
  });
  const maxGasCost = network.maxGasCost ?? 0n;
  const contractPayers = createContractPayers({ now });
  const ages = createTransactionAges({ now });
  const chainWithin = (timeoutMs: number, outer?: AbortSignal): { chain: EvmChain; signal: AbortSignal } => {
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = outer === undefined ? limit : AbortSignal.any([outer, limit]);
    return { chain: createEvmChain(rpc, signal), signal };
  };
  /** Notes a contract wallet that made us pay for nothing. */
  const noteRevert = (order: EvmOrder, { sent, receipt }: EvmCallRecord): void => {
    if (sent === null || receipt?.status !== 'reverted') return;
    const { payer } = authorizationOf(order);
    const { transaction } = sent;
    contractPayers.noteReverted({ transaction, payer });
    log.warn(
      { network: network.id, payer, transaction },
      'a settlement was reverted whose payer is a contract',
    );
  };
  const judge = async (
    order: EvmOrder,
    evidence: Pick<Parameters<typeof judgeSettlement>[1], 'record' | 'reason'>,
  ): Promise<SettleOutcome> => {
    const verdict = await judgeSettlement(order, { ...evidence, chain: chainWithin(timeouts.queryMs).chain });
    // A transaction that was not seen to land may have left its nonce free.
    if (verdict.outcome === 'unknown') account.forgetNonce();
    return verdict;
  };

  const verify: LocalEngine['verify'] = async (order, outer): Promise<VerifyOutcome> => {
    const record = newCallRecord();
    const sending: EvmSending = {
      ...chainWithin(timeouts.verifyMs, outer),
      beforeBroadcast: () => Promise.reject(new Error('verifying sends nothing')),
    };
    const scheme = new ExactEvmScheme(createEvmSigner({ account, sending, record, limits: null }));
    const invalid = (reason: string, payer: string | null): VerifyOutcome =>
      record.isOutage
        ? { outcome: 'unavailable', reason: 'rpc_unavailable' }
        : { outcome: 'invalid', reason, payer };
    try {
      const authorization = authorizationOf(toEvmOrder(order));
      const { payer: signer } = authorization;
      if (contractPayers.isResting(signer)) return invalid(restingReason, signer);
      const isContract = () => hasCode(sending.chain, signer).catch(() => true);
      if (!contractPayers.hasBudget() && (await isContract()))
        return { outcome: 'unavailable', reason: 'contract_payers_exhausted' };
      const verified = await scheme.verify(order.payload, order.requirements);
      const payer = verified.payer ?? null;
      if (verified.isValid && !record.isOutage) return { outcome: 'valid', payer };
      const { chain } = sending;
      return invalid(await refineReason(verified.invalidReason, { record, authorization, chain }), payer);
    } catch (error) {
      log.warn({ err: error, network: network.id }, 'verifying a payment ended in an error');
      return invalid('invalid_exact_evm_payload', null);
    }
  };

  /**
   * Resumes a transaction that was signed earlier; null when it did not and will not settle the payment. A reverted
   * transaction left the authorization as good as it was.
   */
  const resume = async (
    order: EvmOrder,
    earlier: EarlierTransaction,
    sending: EvmSending,
  ): Promise<SettleOutcome | null> => {
    const record = await resumeEvmTransaction(earlier, { account, sending, ages, maxGasCost });
    if (record === null) return null;
    // The revert was noted when it happened, or is long past. A repeated proof must not note it again.
    return record.receipt?.status === 'reverted' ? null : judge(order, { record, reason: undefined });
  };

  const settleAnew = async (order: PaymentOrder, sending: EvmSending): Promise<SettleOutcome> => {
    const evmOrder = toEvmOrder(order);
    const { payer } = authorizationOf(evmOrder);
    if (contractPayers.isResting(payer))
      return { outcome: 'failed', reason: restingReason, transaction: null };
    const { payload } = evmOrder;
    const watch = watchPayer({ payer, payload, chain: sending.chain, contractPayers });
    try {
      return await settleWatched(order, { sending, watch });
    } finally {
      watch.end();
    }
  };

  const settleWatched = async (
    order: PaymentOrder,
    { sending, watch }: { sending: EvmSending; watch: PayerWatch },
  ): Promise<SettleOutcome> => {
    const evmOrder = toEvmOrder(order);
    const record = newCallRecord();
    const limits = { maxGasCost, readMaxGas: watch.readMaxGas };
    const scheme = new ExactEvmScheme(createEvmSigner({ account, sending, record, limits }));
    let reason: string | undefined;
    try {
      reason = (await scheme.settle(order.payload, order.requirements)).errorReason;
    } catch (error) {
      log.warn({ err: error, network: network.id }, 'settling a payment ended in an error');
      if (record.sent === null) return { outcome: 'unavailable', reason: 'settlement_error' };
    } finally {
      if (record.sent !== null) ages.ageMs(record.sent.transaction);
    }
    const verdict = await judge(evmOrder, { record, reason });
    // A revert is no fault of the payer when another party used the same authorization: then the payer did pay.
    if (verdict.outcome === 'unknown' && watch.isContract()) noteRevert(evmOrder, record);
    return verdict;
  };

  /** Asks the chain after a refusal: once something may have been sent, the refusal may be due to success. */
  const confirmFailure = async (
    order: PaymentOrder,
    { reason }: SettleOutcome & { outcome: 'failed' },
    { transaction }: OutgoingTransaction,
  ): Promise<SettleOutcome> => {
    const { chain } = chainWithin(timeouts.queryMs);
    const found = await askEvmOutcome(chain, toEvmOrder(order), transaction);
    if (found.outcome === 'settled') return { ...found, payer: null };
    if (found.outcome === 'failed') return { ...found, transaction };
    return { outcome: 'unknown', reason, transaction };
  };

  return {
    verify,
    settle: async (order, { earlier, beforeBroadcast }) => {
      /** The last transaction of this attempt or an earlier one that may have been sent. */
      let last = earlier;
      const watched = watchBeforeBroadcast(async (outgoing) => {
        await beforeBroadcast(outgoing);
        last = outgoing;
      });
      const sending: EvmSending = {
        ...chainWithin(timeouts.settleMs),
        beforeBroadcast: watched.beforeBroadcast,
      };
      let outcome: SettleOutcome | null = null;
      if (hasRaw(earlier)) {
        try {
          outcome = await resume(toEvmOrder(order), earlier, sending);
        } catch (error) {
          log.warn({ err: error, network: network.id }, 'sending a settlement again ended in an error');
          outcome = { outcome: 'unknown', reason: 'rpc_unavailable', transaction: earlier.transaction };
        }
      }
      outcome ??= await settleAnew(order, sending);
      watched.throwFirstError();
      return outcome.outcome === 'failed' && last !== null ? confirmFailure(order, outcome, last) : outcome;
    },
    findOutcome: (payment, signal) =>
      askEvmOutcome(chainWithin(timeouts.queryMs, signal).chain, toEvmOrder(payment), payment.transaction),
    check: (signal) =>
      checkEvmFunds(chainWithin(timeouts.queryMs, signal).chain, { network, account: account.address }),
  };
};

import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import type { Log } from '../../kit/log.ts';
import type { PaymentNetwork } from '../core/networks.ts';
import { createEvmAccount, type EvmSending } from './evm-account.ts';
import { createEvmChain, type EvmChain } from './evm-chain.ts';
import { createContractPayers } from './evm-contract-payers.ts';
import { checkEvmFunds } from './evm-funds.ts';
import { askEvmOutcome, authorizationOf, findEvmOutcome, type EvmOrder } from './evm-outcome.ts';
import { hasCode, watchPayer, type PayerWatch } from './evm-payer-watch.ts';
import { resumeEvmTransaction, type EarlierTransaction } from './evm-resume.ts';
import { createEvmSightings } from './evm-sightings.ts';
import { createEvmSigner, newCallRecord, type EvmCallRecord } from './evm-signer.ts';
import { judgeSettlement, refineReason } from './evm-verdict.ts';
import type {
  FacilitatorTimeouts,
  OutgoingTransaction,
  PaymentOrder,
  SettleOutcome,
  VerifyOutcome,
} from '../core/facilitator.ts';
import type { JsonRpc } from '../core/json-rpc.ts';
import type { SenderTurn } from '../core/sender-turn.ts';
import { watchHandover, type LocalEngine } from '../core/local-engine.ts';

export interface LocalEvmOptions {
  network: PaymentNetwork;
  privateKey: string;
  rpc: JsonRpc;
  timeouts: FacilitatorTimeouts;
  turnOf: (sender: string) => SenderTurn;
  log: Log;
  /** Epoch milliseconds. */
  now: () => number;
}

/** Of payers whose wallet reverted a settlement lately. */
const restingReason = 'payer_contract_reverted';

/** The rest of a settlement's time is for the chain. */
const longestPatienceMs = 2_000;

/** Throws TypeError for a payment that is none on EVM, which is a fault of ours. */
const toEvmOrder = ({ payload, requirements }: PaymentOrder): EvmOrder => {
  if ('transaction' in payload.payload) throw new TypeError('an EVM payment carries an authorization');
  return { payload: payload.payload, requirements };
};

const hasRaw = (
  earlier: OutgoingTransaction | null,
): earlier is OutgoingTransaction & { transaction: string; rawTransaction: string } =>
  earlier !== null && earlier.transaction !== null && earlier.rawTransaction !== null;

/** Verifies and settles on one EVM chain, paying gas from the account of `privateKey`. */
export const createLocalEvm = (options: LocalEvmOptions): LocalEngine => {
  const { network, privateKey, rpc, timeouts, turnOf, log, now } = options;
  const chainId = Number(network.id.split(':')[1]);
  const account = createEvmAccount({
    privateKey: `0x${privateKey.slice(2)}`,
    chainId,
    turnOf,
    patienceMs: Math.min(longestPatienceMs, timeouts.settleMs / 4),
  });
  const maxGasCost = network.maxGasCost ?? 0n;
  const contractPayers = createContractPayers({ now });
  const sightings = createEvmSightings({ now });
  const chainWithin = (timeoutMs: number, outer?: AbortSignal): { chain: EvmChain; signal: AbortSignal } => {
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = outer === undefined ? limit : AbortSignal.any([outer, limit]);
    return { chain: createEvmChain(rpc, signal), signal };
  };
  /** A wallet of code that made us pay for nothing is noted. */
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
      const { payer: signer } = authorizationOf(toEvmOrder(order));
      if (contractPayers.isResting(signer)) return invalid(restingReason, signer);
      const isContract = () => hasCode(sending.chain, signer).catch(() => true);
      if (!contractPayers.hasBudget() && (await isContract()))
        return { outcome: 'unavailable', reason: 'contract_payers_exhausted' };
      const verified = await scheme.verify(order.payload, order.requirements);
      const payer = verified.payer ?? null;
      if (verified.isValid && !record.isOutage) return { outcome: 'valid', payer };
      const authorization = authorizationOf(toEvmOrder(order));
      const { chain } = sending;
      return invalid(await refineReason(verified.invalidReason, { record, authorization, chain }), payer);
    } catch (error) {
      log.warn({ err: error, network: network.id }, 'verifying a payment ended in an error');
      return invalid('invalid_exact_evm_payload', null);
    }
  };

  /**
   * Goes on with what was signed earlier; null when that did not and will not settle it. A transaction that was reverted
   * left the authorization as good as it was.
   */
  const resume = async (
    order: EvmOrder,
    earlier: EarlierTransaction,
    sending: EvmSending,
  ): Promise<SettleOutcome | null> => {
    const record = await resumeEvmTransaction(earlier, { account, sending, sightings, maxGasCost });
    if (record === null) return null;
    // Its revert was noted when it happened, or is long past: a proof that is sent again must not renew it.
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
      if (record.sent !== null) sightings.note(record.sent.transaction);
    }
    const verdict = await judge(evmOrder, { record, reason });
    // Reverted as somebody else handed the same authorization in: then it did pay.
    if (verdict.outcome === 'unknown' && watch.isContract()) noteRevert(evmOrder, record);
    return verdict;
  };

  /** Once something may be out only the chain can say that nothing moved; a refusal now may be its success. */
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
      /** What was handed over last, of this try or an earlier one: it may be out. */
      let last = earlier;
      const handover = watchHandover(async (outgoing) => {
        await beforeBroadcast(outgoing);
        last = outgoing;
      });
      const sending: EvmSending = {
        ...chainWithin(timeouts.settleMs),
        beforeBroadcast: handover.beforeBroadcast,
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
      handover.throwIfAbandoned();
      return outcome.outcome === 'failed' && last !== null ? confirmFailure(order, outcome, last) : outcome;
    },
    findOutcome: async (payment, signal) => {
      try {
        const { chain } = chainWithin(timeouts.queryMs, signal);
        return await findEvmOutcome(chain, toEvmOrder(payment), payment.transaction);
      } catch {
        return { outcome: 'unknown', reason: 'rpc_unavailable' };
      }
    },
    check: (signal) =>
      checkEvmFunds(chainWithin(timeouts.queryMs, signal).chain, { network, account: account.address }),
  };
};

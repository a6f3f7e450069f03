import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import type { Log } from '../../log.ts';
import type { PaymentNetwork } from '../networks.ts';
import { createEvmAccount, type EvmSending } from './evm-account.ts';
import { createEvmChain, type EvmChain } from './evm-chain.ts';
import { checkEvmFunds } from './evm-funds.ts';
import { askEvmOutcome, authorizationOf, findEvmOutcome, type EvmOrder } from './evm-outcome.ts';
import { resumeEvmTransaction, type EarlierTransaction } from './evm-resume.ts';
import { createEvmSigner, newCallRecord } from './evm-signer.ts';
import { judgeSettlement, refineReason } from './evm-verdict.ts';
import type {
  FacilitatorTimeouts,
  OutgoingTransaction,
  PaymentOrder,
  SettleOutcome,
  VerifyOutcome,
} from './facilitator.ts';
import type { JsonRpc } from './json-rpc.ts';
import type { SenderTurn } from './sender-turn.ts';
import { watchHandover, type LocalEngine } from './local-engine.ts';

export interface LocalEvmOptions {
  network: PaymentNetwork;
  privateKey: string;
  rpc: JsonRpc;
  timeouts: FacilitatorTimeouts;
  turnOf: (sender: string) => SenderTurn;
  log: Log;
}

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
  const { network, privateKey, rpc, timeouts, turnOf, log } = options;
  const chainId = Number(network.id.split(':')[1]);
  const account = createEvmAccount({
    privateKey: `0x${privateKey.slice(2)}`,
    chainId,
    turnOf,
    patienceMs: Math.min(longestPatienceMs, timeouts.settleMs / 4),
  });
  const maxGasCost = network.maxGasCost ?? 0n;
  const chainWithin = (timeoutMs: number, outer?: AbortSignal): { chain: EvmChain; signal: AbortSignal } => {
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = outer === undefined ? limit : AbortSignal.any([outer, limit]);
    return { chain: createEvmChain(rpc, signal), signal };
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
    const scheme = new ExactEvmScheme(createEvmSigner({ account, sending, record, maxGasCost }));
    const invalid = (reason: string, payer: string | null): VerifyOutcome =>
      record.isOutage
        ? { outcome: 'unavailable', reason: 'rpc_unavailable' }
        : { outcome: 'invalid', reason, payer };
    try {
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

  /** Goes on with what was signed earlier; null when that transaction can never land. */
  const resume = async (
    order: EvmOrder,
    earlier: EarlierTransaction,
    sending: EvmSending,
  ): Promise<SettleOutcome | null> => {
    const record = await resumeEvmTransaction(earlier, { account, sending, maxGasCost });
    return record === null ? null : judge(order, { record, reason: undefined });
  };

  const settleAnew = async (order: PaymentOrder, sending: EvmSending): Promise<SettleOutcome> => {
    const record = newCallRecord();
    const scheme = new ExactEvmScheme(createEvmSigner({ account, sending, record, maxGasCost }));
    let reason: string | undefined;
    try {
      reason = (await scheme.settle(order.payload, order.requirements)).errorReason;
    } catch (error) {
      log.warn({ err: error, network: network.id }, 'settling a payment ended in an error');
      if (record.sent === null) return { outcome: 'unavailable', reason: 'settlement_error' };
    }
    return judge(toEvmOrder(order), { record, reason });
  };

  /** After an earlier try only the chain can say that nothing moved; a refusal now may be that try's success. */
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
      const handover = watchHandover(beforeBroadcast);
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
      return outcome.outcome === 'failed' && earlier !== null
        ? confirmFailure(order, outcome, earlier)
        : outcome;
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

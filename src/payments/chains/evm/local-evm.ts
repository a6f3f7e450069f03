import type { SchemeNetworkFacilitator } from '@x402/core/types';
import type { FacilitatorEvmSigner } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import { UptoEvmScheme } from '@x402/evm/upto/facilitator';
import type { Hex } from 'viem';
import { instead } from '../../../kit/errors.ts';
import { uptoSecondsLeft } from '../../wire/challenge.ts';
import {
  toSettleOutcome,
  sendNothing,
  settleByScheme,
  signalWithin,
  verifyByScheme,
  watchBeforeBroadcast,
  type OutgoingTransaction,
  type PaymentOrder,
  type SettleOptions,
  type SettleOutcome,
  type VerifyOutcome,
} from '../core/facilitator.ts';
import { isNodeTrouble } from '../core/json-rpc.ts';
import type { LocalEngine, LocalEngineOptions } from '../core/network-family.ts';
import { createEvmAccount, type EvmAccount, type EvmSending } from './evm-account.ts';
import { chainIdOf, createEvmChain, checkEvmFunds, type EvmChain } from './evm-chain.ts';
import { askEvmOutcome, authorizationOf, judgeSettlement, refineReason } from './evm-outcome.ts';
import type { EvmAuthorization } from './evm-authorization.ts';
import { permit2Contracts } from './evm-payload.ts';
import { createContractPayers, hasCode, watchPayer, type ContractPayers } from './evm-payer-watch.ts';
import {
  createTransactionAges,
  resumeEvmTransaction,
  createEvmSigner,
  newCallRecord,
  type TransactionAges,
  type EvmCallRecord,
} from './evm-signer.ts';

/** The reason code of payers whose wallet reverted a settlement lately. */
const restingReason = 'payer_contract_reverted';

/** The rest of a settlement's time is for the chain. */
const maxLeaseWaitMs = 2_000;

/** One EVM chain, the account that pays gas on it, and all that is remembered about them. */
interface EvmSite extends Pick<LocalEngineOptions, 'timeouts' | 'log' | 'now'> {
  account: EvmAccount;
  contractPayers: ContractPayers;
  ageMs: TransactionAges;
  maxGasCost: bigint;
  chainWithin: (timeoutMs: number, outer?: AbortSignal) => { chain: EvmChain; signal: AbortSignal };
}

const schemeOf = ({ requirements }: PaymentOrder, signer: FacilitatorEvmSigner): SchemeNetworkFacilitator =>
  requirements.scheme === 'upto' ? new UptoEvmScheme(signer) : new ExactEvmScheme(signer);

/** Tells whether the payment would run out before the work is done: then the work would be given away. */
const isTooLate = (
  { now }: EvmSite,
  { requirements }: PaymentOrder,
  { validBefore }: EvmAuthorization,
): boolean =>
  requirements.scheme === 'upto' &&
  validBefore < BigInt(Math.ceil(now() / 1_000) + uptoSecondsLeft(requirements));

const verify = async (site: EvmSite, order: PaymentOrder, outer: AbortSignal): Promise<VerifyOutcome> => {
  const { account, contractPayers, log } = site;
  const authorization = authorizationOf(order);
  const { payer, expiredReason } = authorization;
  if (isTooLate(site, order, authorization)) return { outcome: 'invalid', reason: expiredReason };
  const sending = { ...site.chainWithin(site.timeouts.verifyMs, outer), beforeBroadcast: sendNothing };
  const { chain } = sending;
  if (contractPayers.isResting(payer)) return { outcome: 'invalid', reason: restingReason };
  if (!contractPayers.hasBudget() && (await hasCode(chain, payer).catch(() => true)))
    return { outcome: 'unavailable', reason: 'contract_payers_exhausted' };
  const record = newCallRecord();
  const scheme = schemeOf(order, createEvmSigner({ account, sending, record, limits: null }));
  const refine = (reason?: string) => refineReason(order, { record, reason, chain });
  return verifyByScheme(order, { scheme, record, log, refine });
};

const judge = async (
  site: EvmSite,
  order: PaymentOrder,
  evidence: { record: EvmCallRecord; reason: string | undefined },
): Promise<SettleOutcome> => {
  const { chain } = site.chainWithin(site.timeouts.queryMs);
  const verdict = await judgeSettlement(order, { ...evidence, chain });
  // A transaction that was not seen to land may have left its nonce free.
  if (verdict.outcome === 'unknown') site.account.doubtNonce();
  return verdict;
};

/** Resumes a transaction that was signed earlier; null when it did not and will not settle the payment. */
const resume = async (
  site: EvmSite,
  order: PaymentOrder,
  { earlier, sending }: { earlier: { transaction: string; rawTransaction: string }; sending: EvmSending },
): Promise<SettleOutcome | null> => {
  try {
    const record = await resumeEvmTransaction(earlier, { ...site, sending });
    // A reverted transaction left the authorization as good as it was. Its revert was noted when it happened, or is
    // long past; a repeated proof must not note it again.
    if (record === null || record.receipt?.status === 'reverted') return null;
    return await judge(site, order, { record, reason: undefined });
  } catch (error) {
    site.log.warn({ err: error }, 'sending a settlement again ended in an error');
    return { outcome: 'unknown', reason: 'rpc_unavailable', transaction: earlier.transaction };
  }
};

/** Signs and sends a new transaction, unless a wallet with code made us pay for nothing lately. */
const settleAnew = async (
  site: EvmSite,
  order: PaymentOrder,
  sending: EvmSending,
): Promise<SettleOutcome> => {
  const { account, contractPayers, log, ageMs, maxGasCost } = site;
  const authorization = authorizationOf(order);
  const { payer } = authorization;
  if (contractPayers.isResting(payer)) return { outcome: 'failed', reason: restingReason, transaction: null };
  const watch = watchPayer({ authorization, chain: sending.chain, contractPayers });
  try {
    const record = newCallRecord();
    const limits = { maxGasCost, readMaxGas: watch.readMaxGas };
    const scheme = schemeOf(order, createEvmSigner({ account, sending, record, limits }));
    const reason = await settleByScheme(order, { scheme, record, log });
    const transaction = record.sent?.transaction;
    if (transaction !== undefined) ageMs(transaction);
    const verdict = await judge(site, order, { record, reason });
    // A revert is no fault of the payer when another party used the same authorization: then the payer did pay.
    const isReverted = 'isReverted' in verdict && verdict.isReverted;
    if (transaction !== undefined && isReverted === true && watch.isContract()) {
      contractPayers.noteReverted({ transaction, payer });
      log.warn({ payer, transaction }, 'a settlement was reverted whose payer is a contract');
    }
    return verdict;
  } finally {
    watch.end();
  }
};

const hasRaw = (
  earlier: OutgoingTransaction | null,
): earlier is OutgoingTransaction & { transaction: string; rawTransaction: string } =>
  earlier !== null && earlier.transaction !== null && earlier.rawTransaction !== null;

const settle = async (
  site: EvmSite,
  order: PaymentOrder,
  { earlier, beforeBroadcast }: SettleOptions,
): Promise<SettleOutcome> => {
  /** The last transaction of this attempt or an earlier one that may have been sent. */
  let last = earlier;
  const watched = watchBeforeBroadcast(async (outgoing) => {
    await beforeBroadcast(outgoing);
    last = outgoing;
  });
  const sending = {
    ...site.chainWithin(site.timeouts.settleMs),
    beforeBroadcast: watched.beforeBroadcast,
  };
  const resumed = hasRaw(earlier) ? await resume(site, order, { earlier, sending }) : null;
  const outcome = resumed ?? (await settleAnew(site, order, sending));
  watched.throwFirstError();
  if (outcome.outcome !== 'failed' || outcome.isReverted === true || last === null) return outcome;
  // Once something may have been sent, a refusal may be due to success.
  const { transaction } = last;
  const found = await askEvmOutcome(site.chainWithin(site.timeouts.queryMs).chain, order, transaction);
  return found.outcome === 'unknown'
    ? { outcome: 'unknown', reason: outcome.reason, transaction }
    : toSettleOutcome(found, { openReason: outcome.reason, transaction });
};

export const createLocalEvm = (options: LocalEngineOptions): LocalEngine => {
  const { network, rpc, timeouts, accountLeaseOf, now } = options;
  const privateKey: Hex = `0x${options.privateKey.slice(2)}`;
  const chainId = chainIdOf(network.id);
  const waitMs = Math.min(maxLeaseWaitMs, timeouts.settleMs / 4);
  const site: EvmSite = {
    timeouts,
    now,
    log: options.log.child({ network: network.id }),
    account: createEvmAccount({ privateKey, chainId, accountLeaseOf, waitMs }),
    contractPayers: createContractPayers({ now }),
    ageMs: createTransactionAges({ now }),
    maxGasCost: network.maxGasCost ?? 0n,
    chainWithin: (timeoutMs, outer) => {
      const signal = signalWithin(timeoutMs, outer);
      return { chain: createEvmChain(rpc, signal), signal };
    },
  };
  const chainFor = (signal?: AbortSignal) => site.chainWithin(timeouts.queryMs, signal).chain;
  return {
    verify: (order, signal) => verify(site, order, signal),
    settle: (order, settling) => settle(site, order, settling),
    findOutcome: (payment, signal) => askEvmOutcome(chainFor(signal), payment, payment.transaction),
    readUpto: async (signal) => {
      const { permit2, uptoProxy } = permit2Contracts;
      const chain = chainFor(signal);
      const reading = Promise.all([permit2, uptoProxy].map((address) => chain.getCode(address)));
      const codes = await reading.catch(instead(['0x'], isNodeTrouble));
      return codes.includes('0x') ? null : { facilitatorAddress: site.account.address };
    },
    check: (signal) => checkEvmFunds(chainFor(signal), { network, account: site.account.address }),
  };
};

import { createKeyPairSignerFromBytes } from '@solana/kit';
import { toFacilitatorSvmSigner } from '@x402/svm';
import { ExactSvmScheme } from '@x402/svm/exact/facilitator';
import {
  toReasonCode,
  type BegunPayment,
  type FoundOutcome,
  type PaymentOrder,
  type SettleOptions,
  type SettleOutcome,
  type VerifyOutcome,
} from '../core/facilitator.ts';
import { judgeFunds, watchBeforeBroadcast } from '../core/local-engine.ts';
import type { LocalEngine, LocalEngineOptions } from '../core/network-family.ts';
import { findSolanaPayment } from './find-solana-payment.ts';
import { createSolanaChain, type SolanaChain } from './solana-chain.ts';
import { transactionOf } from './solana-payload.ts';
import {
  createSolanaSigner,
  newSolanaRecord,
  type SolanaCallRecord,
  type SolanaKeys,
} from './solana-signer.ts';
import { findTokenAccount } from './solana-token-account.ts';
import { readSolanaTransaction, signatureOf } from './solana-transaction.ts';

/**
 * The buyer writes the transaction and we pay its fees: a transfer takes about 20,000 compute units and two
 * signatures, and at most 100,000 units x 0.2 lamports is added to the base fee.
 */
const feeLimits = {
  maxComputeUnits: 100_000,
  maxPriorityFeeMicroLamports: 200_000,
  maxRequiredSignatures: 3,
};

/** In lamports: 5,000 a signature, and the highest priority fee that a buyer may write. */
const maxFee =
  5_000n * BigInt(feeLimits.maxRequiredSignatures) +
  BigInt((feeLimits.maxComputeUnits * feeLimits.maxPriorityFeeMicroLamports) / 1_000_000);
/** In lamports: the balance that an account without data must keep. */
const rentExemption = 890_880n;

/** Error 1 of the token program. */
const insufficientFunds = /"InstructionError":\[\d+,\{"Custom":1\}\]/;

/** Refines the scheme's reason by the error of the simulation. */
const refineReason = (reason: string | undefined, { simulationError }: SolanaCallRecord): string => {
  if (simulationError !== null && insufficientFunds.test(simulationError))
    return 'invalid_exact_svm_insufficient_funds';
  if (simulationError === '"BlockhashNotFound"') return 'invalid_exact_svm_blockhash_expired';
  return toReasonCode(reason, 'invalid_exact_svm_payload');
};

interface Within {
  chain: SolanaChain;
  signal: AbortSignal;
}

/** Verifies and settles on one Solana cluster, paying fees from the account of `secretKey`: seed and public key. */
export const createLocalSolana = async (
  { network, payTo, rpc, timeouts, log, now }: LocalEngineOptions,
  secretKey: Uint8Array,
): Promise<LocalEngine> => {
  const keyPair = await createKeyPairSignerFromBytes(secretKey);
  const ownKeys = toFacilitatorSvmSigner(keyPair);
  const keys: SolanaKeys = {
    getAddresses: () => ownKeys.getAddresses(),
    signTransaction: (...signing) => ownKeys.signTransaction(...signing),
  };
  const tokenAccount = await findTokenAccount({ owner: payTo, mint: network.asset.address });

  const within = (timeoutMs: number, outer?: AbortSignal): Within => {
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = outer === undefined ? limit : AbortSignal.any([outer, limit]);
    return { chain: createSolanaChain(rpc, signal), signal };
  };
  const createScheme = (
    { chain, signal }: Within,
    record: SolanaCallRecord,
    beforeBroadcast: SettleOptions['beforeBroadcast'],
  ): ExactSvmScheme => {
    const signer = createSolanaSigner({ keys, chain, signal, record, beforeBroadcast });
    return new ExactSvmScheme(signer, undefined, feeLimits);
  };

  const verify: LocalEngine['verify'] = async (order, outer): Promise<VerifyOutcome> => {
    const record = newSolanaRecord();
    const invalid = (reason: string, payer: string | null): VerifyOutcome =>
      record.isOutage
        ? { outcome: 'unavailable', reason: 'rpc_unavailable' }
        : { outcome: 'invalid', reason, payer };
    const sendNothing = (): Promise<never> => Promise.reject(new Error('verifying sends nothing'));
    try {
      const scheme = createScheme(within(timeouts.verifyMs, outer), record, sendNothing);
      const verified = await scheme.verify(order.payload, order.requirements);
      const payer = verified.payer === undefined || verified.payer === '' ? null : verified.payer;
      if (verified.isValid && !record.isOutage) return { outcome: 'valid', payer };
      return invalid(refineReason(verified.invalidReason, record), payer);
    } catch (error) {
      log.warn({ err: error, network: network.id }, 'verifying a payment ended in an error');
      return invalid('invalid_exact_svm_payload', null);
    }
  };

  /**
   * Returns the signature that our account gives a transaction; null where another account pays the fees. Ed25519
   * signatures are deterministic, so no record is needed.
   */
  const signatureOfOurs = async (transaction: string): Promise<string | null> => {
    const [feePayer] = readSolanaTransaction(transaction).accounts;
    if (feePayer !== keyPair.address) return null;
    return signatureOf(await keys.signTransaction(transaction, keyPair.address, network.id));
  };

  const find = async (payment: BegunPayment, chain: SolanaChain): Promise<FoundOutcome> => {
    try {
      const ownSignature = await signatureOfOurs(transactionOf(payment.payload.payload));
      return await findSolanaPayment(chain, payment, { ownSignature, now: now() });
    } catch {
      return { outcome: 'unknown', reason: 'rpc_unavailable' };
    }
  };

  const judgeUnsent = async (
    order: PaymentOrder,
    { record, reason, isRepeated }: { record: SolanaCallRecord; reason: string; isRepeated: boolean },
  ): Promise<SettleOutcome> => {
    if (record.isOutage) return { outcome: 'unavailable', reason: 'rpc_unavailable' };
    if (record.simulationError === '"AlreadyProcessed"') {
      const nothingKnown = { transaction: null, rawTransaction: null, facilitator: null, createdAt: now() };
      const found = await find({ ...order, ...nothingKnown }, within(timeouts.queryMs).chain);
      if (found.outcome === 'settled') return { ...found, payer: null };
      return { outcome: 'unknown', reason: 'settlement_pending', transaction: null };
    }
    // An earlier sending may still land while its blockhash is valid.
    return isRepeated
      ? { outcome: 'unknown', reason, transaction: null }
      : { outcome: 'failed', reason, transaction: null };
  };

  const judgeSent = (record: SolanaCallRecord, signature: string): SettleOutcome => {
    const { status, sent } = record;
    if (status === null) {
      const reason = sent?.isRefused === true ? 'transaction_not_accepted' : 'settlement_pending';
      return { outcome: 'unknown', reason, transaction: signature };
    }
    return status.error === null
      ? { outcome: 'settled', transaction: signature, payer: null }
      : { outcome: 'failed', reason: 'invalid_exact_svm_transaction_failed', transaction: signature };
  };

  return {
    verify,
    settle: async (order, { earlier, beforeBroadcast }) => {
      const watched = watchBeforeBroadcast(beforeBroadcast);
      const record = newSolanaRecord();
      const scheme = createScheme(within(timeouts.settleMs), record, watched.beforeBroadcast);
      let reason: string | undefined;
      try {
        reason = (await scheme.settle(order.payload, order.requirements)).errorReason;
      } catch (error) {
        log.warn({ err: error, network: network.id }, 'settling a payment ended in an error');
        reason = 'settlement_error';
        record.isOutage = true;
      }
      watched.throwFirstError();
      if (record.sent !== null) return judgeSent(record, record.sent.signature);
      return judgeUnsent(order, {
        record,
        reason: refineReason(reason, record),
        isRepeated: earlier !== null,
      });
    },
    findOutcome: (payment, signal) => find(payment, within(timeouts.queryMs, signal).chain),
    check: async (signal) => {
      const { chain } = within(timeouts.queryMs, signal);
      const [lamports, hasTokenAccount] = await Promise.all([
        chain.getBalance(keyPair.address),
        chain.hasAccount(tokenAccount),
      ]);
      if (!hasTokenAccount)
        return { ready: false, detail: `the wallet ${payTo} has no USDC account (${tokenAccount}) yet` };
      return judgeFunds({
        account: keyPair.address,
        spendable: BigInt(lamports) - rentExemption,
        settlementCost: maxFee,
      });
    },
  };
};

import { createKeyPairSignerFromBytes, type KeyPairSigner } from '@solana/kit';
import { toFacilitatorSvmSigner, type FacilitatorSvmSigner } from '@x402/svm';
import { ExactSvmScheme } from '@x402/svm/exact/facilitator';
import {
  toReasonCode,
  judgeFunds,
  sendNothing,
  settleByScheme,
  signalWithin,
  verifyByScheme,
  watchBeforeBroadcast,
  type BegunPayment,
  type FacilitatorHealth,
  type FoundOutcome,
  type PaymentOrder,
  type SettleOptions,
  type SettleOutcome,
  type VerifyOutcome,
  type SchemeRecord,
} from '../core/facilitator.ts';
import type { LocalEngine, LocalEngineOptions } from '../core/network-family.ts';
import { findSolanaPayment } from './find-solana-payment.ts';
import { createSolanaChain, type SolanaChain, type SolanaStatus } from './solana-chain.ts';
import { transactionOf } from './solana-payload.ts';
import { findTokenAccount, readSolanaTransaction, signatureOf } from './solana-transaction.ts';
import { isVerdict } from '../core/json-rpc.ts';
import { pause } from '../../../kit/repeat.ts';

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

interface SolanaSite extends LocalEngineOptions {
  account: KeyPairSigner['address'];
  keys: SolanaKeys;
}

const refineReason = (reason: string | undefined, { simulationError }: SolanaCallRecord): string => {
  if (simulationError !== null && insufficientFunds.test(simulationError))
    return 'invalid_exact_svm_insufficient_funds';
  if (simulationError === '"BlockhashNotFound"') return 'invalid_exact_svm_blockhash_expired';
  return toReasonCode(reason, 'invalid_exact_svm_payload');
};

const beginCall = (
  { keys, rpc, log }: SolanaSite,
  signal: AbortSignal,
  beforeBroadcast: SettleOptions['beforeBroadcast'],
) => {
  const record = newSolanaRecord();
  const chain = createSolanaChain(rpc, signal);
  const signer = createSolanaSigner({ keys, chain, signal, record, beforeBroadcast });
  return { scheme: new ExactSvmScheme(signer, undefined, feeLimits), record, log };
};

const verify = (site: SolanaSite, order: PaymentOrder, outer: AbortSignal): Promise<VerifyOutcome> => {
  const call = beginCall(site, signalWithin(site.timeouts.verifyMs, outer), sendNothing);
  return verifyByScheme(order, { ...call, refine: (reason) => refineReason(reason, call.record) });
};

/** Null where another account pays the fees. Needs no record, because Ed25519 signatures are deterministic. */
const signatureOfOurs = async (
  { account, keys, network }: SolanaSite,
  transaction: string,
): Promise<string | null> => {
  const [feePayer] = readSolanaTransaction(transaction).accounts;
  if (feePayer !== account) return null;
  return signatureOf(await keys.signTransaction(transaction, account, network.id));
};

const findOutcome = async (
  site: SolanaSite,
  payment: BegunPayment,
  outer?: AbortSignal,
): Promise<FoundOutcome> => {
  const chain = createSolanaChain(site.rpc, signalWithin(site.timeouts.queryMs, outer));
  try {
    const ownSignature = await signatureOfOurs(site, transactionOf(payment.payload.payload));
    return await findSolanaPayment(chain, payment, { ownSignature, now: site.now() });
  } catch {
    return { outcome: 'unknown', reason: 'rpc_unavailable' };
  }
};

const judgeUnsent = async (
  site: SolanaSite,
  order: PaymentOrder,
  { record, reason, isRepeated }: { record: SolanaCallRecord; reason: string; isRepeated: boolean },
): Promise<SettleOutcome> => {
  if (record.isOutage) return { outcome: 'unavailable', reason: 'rpc_unavailable' };
  if (record.simulationError === '"AlreadyProcessed"') {
    const nothingKnown = { transaction: null, rawTransaction: null, facilitator: null };
    const found = await findOutcome(site, { ...order, ...nothingKnown, createdAt: site.now() });
    if (found.outcome === 'settled') return found;
    return { outcome: 'unknown', reason: 'settlement_pending', transaction: null };
  }
  // An earlier sending may still land while its blockhash is valid.
  return { outcome: isRepeated ? 'unknown' : 'failed', reason, transaction: null };
};

const judgeSent = (
  { status }: SolanaCallRecord,
  sent: NonNullable<SolanaCallRecord['sent']>,
): SettleOutcome => {
  const { signature: transaction, isRefused } = sent;
  if (status === null)
    return {
      outcome: 'unknown',
      reason: isRefused ? 'transaction_not_accepted' : 'settlement_pending',
      transaction,
    };
  return status.error === null
    ? { outcome: 'settled', transaction }
    : { outcome: 'failed', reason: 'invalid_exact_svm_transaction_failed', transaction, isReverted: true };
};

const settle = async (
  site: SolanaSite,
  order: PaymentOrder,
  { earlier, beforeBroadcast }: SettleOptions,
): Promise<SettleOutcome> => {
  const watched = watchBeforeBroadcast(beforeBroadcast);
  const call = beginCall(site, signalWithin(site.timeouts.settleMs), watched.beforeBroadcast);
  const { record } = call;
  const reason = refineReason(await settleByScheme(order, call), record);
  watched.throwFirstError();
  return record.sent === null
    ? judgeUnsent(site, order, { record, reason, isRepeated: earlier !== null })
    : judgeSent(record, record.sent);
};

const check = async (site: SolanaSite, outer: AbortSignal): Promise<FacilitatorHealth> => {
  const { account, rpc, timeouts, payTo, network } = site;
  const chain = createSolanaChain(rpc, signalWithin(timeouts.queryMs, outer));
  const tokenAccount = await findTokenAccount({ owner: payTo, mint: network.asset.address });
  const [lamports, found] = await Promise.all([chain.getLamports(account), chain.getAccount(tokenAccount)]);
  if (found === null)
    return { ready: false, detail: `the wallet ${payTo} has no USDC account (${tokenAccount}) yet` };
  return judgeFunds({ account, spendable: lamports - rentExemption, settlementCost: maxFee });
};

/** Verifies and settles on one Solana cluster, paying fees from the account of `secretKey`: seed and public key. */
export const createLocalSolana = async (
  options: LocalEngineOptions,
  secretKey: Uint8Array,
): Promise<LocalEngine> => {
  const keyPair = await createKeyPairSignerFromBytes(secretKey);
  const { getAddresses, signTransaction } = toFacilitatorSvmSigner(keyPair);
  const log = options.log.child({ network: options.network.id });
  const site: SolanaSite = {
    ...options,
    log,
    account: keyPair.address,
    keys: { getAddresses, signTransaction },
  };
  return {
    verify: (order, signal) => verify(site, order, signal),
    settle: (order, settling) => settle(site, order, settling),
    findOutcome: (payment, signal) => findOutcome(site, payment, signal),
    check: (signal) => check(site, signal),
  };
};

interface SolanaCallRecord extends SchemeRecord {
  simulationError: string | null;
  sent: { signature: string; isRefused: boolean } | null;
  status: SolanaStatus | null;
}

const newSolanaRecord = (): SolanaCallRecord => ({
  isOutage: false,
  simulationError: null,
  sent: null,
  status: null,
});

type SolanaKeys = Pick<FacilitatorSvmSigner, 'getAddresses' | 'signTransaction'>;

const pollMs = 300;
/** Leaders drop transactions. Sending the same one again cannot charge twice. */
const resendMs = 2_000;

const awaitStatus = async (
  chain: SolanaChain,
  { signature, transaction, signal }: { signature: string; transaction: string; signal: AbortSignal },
): Promise<SolanaStatus | null> => {
  let nextResendAt = Date.now() + resendMs;
  while (!signal.aborted) {
    // An outage proves nothing: the transaction was sent, and only the end of the wait decides.
    const status = await chain.getStatus(signature).catch(() => null);
    if (status !== null && status.commitment !== 'processed') return status;
    if (Date.now() >= nextResendAt) {
      nextResendAt = Date.now() + resendMs;
      await chain.send(transaction).catch(() => undefined);
    }
    await pause(pollMs, signal, { keepsAlive: true });
  }
  return null;
};

/**
 * Creates the signer of one verify or settle call. It writes all events into `record`. Sending and confirming never
 * reject, as the scheme would print the error, which has the node's address in it.
 */
const createSolanaSigner = (options: {
  keys: SolanaKeys;
  chain: SolanaChain;
  signal: AbortSignal;
  record: SolanaCallRecord;
  beforeBroadcast: SettleOptions['beforeBroadcast'];
}): FacilitatorSvmSigner => {
  const { keys, chain, signal, record, beforeBroadcast } = options;
  /** The transaction that a node may have. */
  let sent: string | null = null;
  return {
    ...keys,
    simulateTransaction: async (transaction) => {
      try {
        const error = await chain.simulate(transaction);
        record.simulationError = error === null ? null : JSON.stringify(error);
      } catch (error) {
        if (!isVerdict(error)) record.isOutage = true;
        throw error;
      }
      if (record.simulationError !== null) throw new Error(record.simulationError);
    },
    sendTransaction: async (transaction) => {
      const signature = signatureOf(transaction);
      try {
        await beforeBroadcast({ transaction: signature, rawTransaction: transaction, facilitator: null });
      } catch {
        // The caller watches `beforeBroadcast` and throws its error.
        return signature;
      }
      record.sent = { signature, isRefused: false };
      try {
        await chain.send(transaction);
      } catch (error) {
        record.sent.isRefused = isVerdict(error);
      }
      if (!record.sent.isRefused) sent = transaction;
      return signature;
    },
    confirmTransaction: async (signature) => {
      if (sent !== null) record.status = await awaitStatus(chain, { signature, transaction: sent, signal });
    },
  };
};

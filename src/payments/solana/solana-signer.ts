import { getBase64Encoder, getSignatureFromTransaction, getTransactionDecoder } from '@solana/kit';
import type { FacilitatorSvmSigner } from '@x402/svm';
import type { SettleOptions } from '../core/facilitator.ts';
import { isVerdict, type SolanaChain, type SolanaStatus } from './solana-chain.ts';
import { waitFor } from '../core/wait.ts';

/** What happened underneath one call of the x402 scheme. */
export interface SolanaCallRecord {
  /** Whether the node failed to answer something; then the scheme's verdict says nothing about the proof. */
  isOutage: boolean;
  /** What the simulation would have gone wrong with, as JSON. */
  simulationError: string | null;
  sent: { signature: string; isRefused: boolean } | null;
  status: SolanaStatus | null;
}

export const newSolanaRecord = (): SolanaCallRecord => ({
  isOutage: false,
  simulationError: null,
  sent: null,
  status: null,
});

/** The fee payer's keys. */
export type SolanaKeys = Pick<FacilitatorSvmSigner, 'getAddresses' | 'signTransaction'>;

const pollMs = 300;
/** Leaders drop transactions; sending the same one again cannot charge twice. */
const resendMs = 2_000;

/** The signature that stands for a transaction: its fee payer's. */
export const signatureOf = (transaction: string): string =>
  getSignatureFromTransaction(getTransactionDecoder().decode(getBase64Encoder().encode(transaction)));

const awaitStatus = async (
  chain: SolanaChain,
  { signature, transaction, signal }: { signature: string; transaction: string; signal: AbortSignal },
): Promise<SolanaStatus | null> => {
  let nextResendAt = Date.now() + resendMs;
  while (!signal.aborted) {
    // An outage here says nothing: the transaction is out, and only the end of the wait decides.
    const status = await chain.getStatus(signature).catch(() => null);
    if (status?.isConfirmed === true) return status;
    if (Date.now() >= nextResendAt) {
      nextResendAt = Date.now() + resendMs;
      await chain.send(transaction).catch(() => undefined);
    }
    if (!(await waitFor(pollMs, signal))) break;
  }
  return null;
};

/**
 * The signer of one verify or settle call; everything it learns goes into `record`. Sending and confirming never
 * reject, as the scheme would print the error, with the node's address in it.
 */
export const createSolanaSigner = (options: {
  keys: SolanaKeys;
  chain: SolanaChain;
  signal: AbortSignal;
  record: SolanaCallRecord;
  beforeBroadcast: SettleOptions['beforeBroadcast'];
}): FacilitatorSvmSigner => {
  const { keys, chain, signal, record, beforeBroadcast } = options;
  let outgoing: { transaction: string; isAbandoned: boolean } | null = null;
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
      outgoing = { transaction, isAbandoned: false };
      try {
        await beforeBroadcast({ transaction: signature, rawTransaction: transaction, facilitator: null });
      } catch {
        // The caller watches the handover and throws this itself.
        outgoing.isAbandoned = true;
        return signature;
      }
      record.sent = { signature, isRefused: false };
      await chain.send(transaction).catch((error: unknown) => {
        record.sent = { signature, isRefused: isVerdict(error) };
      });
      return signature;
    },
    confirmTransaction: async (signature) => {
      if (outgoing === null || outgoing.isAbandoned || record.sent?.isRefused === true) return;
      const { transaction } = outgoing;
      record.status = await awaitStatus(chain, { signature, transaction, signal });
    },
  };
};

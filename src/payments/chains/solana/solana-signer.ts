import type { FacilitatorSvmSigner } from '@x402/svm';
import type { SettleOptions, SchemeRecord } from '../core/facilitator.ts';
import { isVerdict } from '../core/json-rpc.ts';
import { pause } from '../../../kit/repeat.ts';
import type { SolanaChain, SolanaStatus } from './solana-chain.ts';
import { signatureOf } from './solana-transaction.ts';

/** The events of one call of the x402 scheme. */
export interface SolanaCallRecord extends SchemeRecord {
  /** The error of the simulation, as JSON; null for none. */
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
export const createSolanaSigner = (options: {
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

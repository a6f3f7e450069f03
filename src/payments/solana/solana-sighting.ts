import { readSolanaTransaction } from './solana-transaction.ts';
import type { SolanaChain } from './solana-chain.ts';

/** `other`: a transaction of that signature is there that is not the payment. */
export type SolanaSighting = 'this' | 'other' | 'absent';

const carries = (landed: string, message: Uint8Array): boolean => {
  try {
    return Buffer.compare(readSolanaTransaction(landed).message, message) === 0;
  } catch {
    // The payment can be read, so what cannot be read is not the payment.
    return false;
  }
};

/**
 * What landed under a signature that somebody else gave: it is this payment when it carries the same message, as the
 * cluster takes a message once. Throws RpcOutage or RpcRefusal.
 */
export const sightSolana = async (
  chain: SolanaChain,
  { signature, message }: { signature: string; message: Uint8Array },
): Promise<SolanaSighting> => {
  const landed = await chain.getTransaction(signature);
  if (landed === null) return 'absent';
  return carries(landed, message) ? 'this' : 'other';
};

import { AppError } from '../errors.ts';
import { sha256 } from '../ids.ts';
import type { Proof } from './parse-proof.ts';
import { permit2Contracts } from './permit2-contracts.ts';

/**
 * What makes a payment the same one, however it is written down: on EVM chain, payer, nonce, and the contract that
 * takes this nonce once, which is the token, or Permit2 for all tokens together; on Solana cluster and signed message,
 * as the fee payer's signature slot can be changed by anybody. Throws AppError
 * `invalid_payment` when a Solana transaction cannot be read.
 */
export const paymentIdentity = async ({ network, accepted, payload }: Proof): Promise<string> => {
  if ('authorization' in payload) {
    const { from, nonce } = payload.authorization;
    // Terms with the asset of before hold for a while after it was changed; v1 proofs do not name theirs.
    const asset = accepted?.asset ?? network.asset.address;
    return `${network.id}:${asset}:${from}:${nonce}`.toLowerCase();
  }
  if ('permit2Authorization' in payload) {
    const { from, nonce } = payload.permit2Authorization;
    return `${network.id}:${permit2Contracts.permit2}:${from}:${nonce}`.toLowerCase();
  }
  const { readSolanaTransaction } = await import('./solana-transaction.ts');
  try {
    return `${network.id}:${sha256(readSolanaTransaction(payload.transaction).message)}`;
  } catch (cause) {
    throw new AppError(
      'invalid_payment',
      'The payment proof cannot be read: payload.transaction is not valid.',
      {
        cause,
      },
    );
  }
};

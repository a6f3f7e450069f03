import { AppError } from '../errors.ts';
import { sha256 } from '../ids.ts';
import type { Proof } from './parse-proof.ts';

/**
 * What makes a payment the same one, however it is written down: on EVM chain, token, payer and nonce; on Solana
 * cluster and signed message, as the fee payer's signature slot can be changed by anybody. Throws AppError
 * `invalid_payment` when a Solana transaction cannot be read.
 */
export const paymentIdentity = async ({ network, payload }: Proof): Promise<string> => {
  if ('authorization' in payload) {
    const { from, nonce } = payload.authorization;
    return `${network.id}:${network.asset.address}:${from}:${nonce}`.toLowerCase();
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

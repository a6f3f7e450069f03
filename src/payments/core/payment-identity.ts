import { AppError } from '../../kit/errors.ts';
import { sha256 } from '../../kit/ids.ts';
import { requireNetwork } from './networks.ts';
import type { Proof } from './parse-proof.ts';
import { permit2Contracts } from '../evm/permit2-contracts.ts';

/**
 * What makes a payment the same one, however it is written down and whatever is configured: on EVM chain, payer, nonce,
 * and whether a token or Permit2 takes this nonce once; on Solana cluster and signed message,
 * as the fee payer's signature slot can be changed by anybody. Throws AppError
 * `invalid_payment` when a Solana transaction cannot be read.
 */
export const paymentIdentity = async ({ network, payload }: Proof): Promise<string> => {
  if ('authorization' in payload) {
    const { from, nonce } = payload.authorization;
    // The network's own USDC stands for every token: v1 proofs do not name theirs, and it may be configured anew.
    const { asset } = requireNetwork(network.id);
    return `${network.id}:${asset.address}:${from}:${nonce}`.toLowerCase();
  }
  if ('permit2Authorization' in payload) {
    const { from, nonce } = payload.permit2Authorization;
    return `${network.id}:${permit2Contracts.permit2}:${from}:${nonce}`.toLowerCase();
  }
  const { readSolanaTransaction } = await import('../solana/solana-transaction.ts');
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

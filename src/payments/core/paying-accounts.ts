import type { PaymentOrder } from './facilitator.ts';

export interface PayingAccounts {
  /** The wallet that is charged; null where the proof does not tell, as when a delegate moves the tokens of another. */
  payer: string | null;
  /** The account that the money is taken from: a wallet in lower case on EVM, a token account on Solana. */
  source: string;
}

/**
 * The accounts that pay, by what the buyer signed: a facilitator's word for the payer would be where refunds go. Null for
 * a Solana transaction without the transfer that is sold. Throws for one that cannot be read.
 */
export const payingAccounts = async ({
  payload: { payload },
  requirements,
}: Pick<PaymentOrder, 'payload' | 'requirements'>): Promise<PayingAccounts | null> => {
  if ('transaction' in payload) {
    const { findSolanaTransfer } = await import('../solana/find-solana-transfer.ts');
    return findSolanaTransfer(payload.transaction, requirements);
  }
  const { from } = 'authorization' in payload ? payload.authorization : payload.permit2Authorization;
  return { payer: from, source: from.toLowerCase() };
};

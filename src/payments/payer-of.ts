import type { PaymentOrder } from './facilitators/facilitator.ts';

/**
 * The wallet that pays, by what it signed itself: a facilitator's word for it would be where refunds go. Null where the
 * proof does not say, as when a delegate moves the tokens of another. Throws for a Solana transaction that cannot be read.
 */
export const payerOf = async ({
  payload: { payload },
  requirements,
}: Pick<PaymentOrder, 'payload' | 'requirements'>): Promise<string | null> => {
  if ('authorization' in payload) return payload.authorization.from;
  if ('permit2Authorization' in payload) return payload.permit2Authorization.from;
  const { findSolanaTransfer } = await import('./facilitators/find-solana-transfer.ts');
  return (await findSolanaTransfer(payload.transaction, requirements))?.payer ?? null;
};

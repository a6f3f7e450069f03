import { z } from 'zod';
import type { SignedPayload } from '../core/wire.ts';

/** A Solana transaction has at most 1232 bytes, in base64. */
const maxTransactionCharacters = 1_644;

/** A transfer that the buyer signed and the fee payer has yet to sign, in base64. */
export const solanaPayload = z.object({
  transaction: z
    .string()
    .max(maxTransactionCharacters)
    .regex(/^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, 'must be base64'),
});

/** Returns the base64 transaction of a payload that was read before. Throws TypeError for that of another family. */
export const transactionOf = ({ transaction }: SignedPayload): string => {
  if (typeof transaction !== 'string') throw new TypeError('a Solana payment carries a transaction');
  return transaction;
};

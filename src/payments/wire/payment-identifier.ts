import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import type { Extension } from '../chains/core/wire.ts';

/** The extension's key (specs/extensions/payment_identifier.md). */
export const paymentIdentifier = 'payment-identifier';

const pattern = '^[A-Za-z0-9_-]+$';
const shortest = 16;
const longest = 128;

/** The declaration in a challenge: a buyer may name its payment, so that a repetition is recognised. */
export const paymentIdentifierDeclaration: Extension = {
  info: { required: false },
  schema: {
    type: 'object',
    properties: {
      required: { type: 'boolean' },
      id: { type: 'string', minLength: shortest, maxLength: longest, pattern },
    },
    required: ['required'],
  },
};

const declared = z.object({
  [paymentIdentifier]: z
    .object({
      info: z.object({ id: z.string().min(shortest).max(longest).regex(new RegExp(pattern)).optional() }),
    })
    .optional(),
});

/**
 * Reads the id that a buyer gave its payment from the `extensions` of a v2 proof. Null when it gave none, as when it
 * only repeats our declaration. Throws AppError `invalid_payment` for an id that is not 16 to 128 of `A-Z a-z 0-9 _ -`.
 */
export const readPaymentIdentifier = (extensions: unknown): string | null => {
  // Some languages write an empty object as a list.
  if (typeof extensions !== 'object' || extensions === null || Array.isArray(extensions)) return null;
  const parsed = declared.safeParse(extensions);
  if (parsed.success) return parsed.data[paymentIdentifier]?.info.id ?? null;
  throw new AppError(
    'invalid_payment',
    `The payment proof cannot be read: extensions.${paymentIdentifier}.info.id: must be ${shortest} to ${longest} ` +
      'characters of A-Z, a-z, 0-9, _ and -.',
    { cause: parsed.error },
  );
};

import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import type { Extension } from '../core/wire.ts';

/** The extension's key (specs/extensions/payment_identifier.md). */
export const paymentIdentifier = 'payment-identifier';

const pattern = '^[A-Za-z0-9_-]+$';
const shortest = 16;
const longest = 128;

/** What a challenge says: a buyer may name its payment, so that a repetition is known for one. */
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
 * The id that a buyer gave its payment, from the `extensions` of a v2 proof; null when it gave none, as when it only
 * repeats our declaration. Throws AppError `invalid_payment` for an id that is not 16 to 128 of `A-Z a-z 0-9 _ -`.
 */
export const readPaymentIdentifier = (extensions: unknown): string | null => {
  // What is no object names nothing; some languages write an empty one as a list.
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

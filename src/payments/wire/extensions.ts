import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import { integerText, type Extension } from '../chains/core/wire.ts';

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

/** The extension's key (specs/extensions/eip2612_gas_sponsoring.md). */
export const gasSponsoring = 'eip2612GasSponsoring';

const address = z.string().regex(/^0x[a-fA-F0-9]{40}$/);
/** A permit by EIP-2612, which lets Permit2 take tokens. The settlement hands it in, so that the buyer pays no gas. */
const permit = z.object({
  from: address,
  asset: address,
  spender: address,
  amount: integerText,
  nonce: integerText,
  deadline: integerText,
  signature: z.string().regex(/^0x[a-fA-F0-9]{130}$/),
  version: z.string().regex(/^\d{1,4}(?:\.\d{1,4}){0,3}$/),
});

export type GasPermit = z.infer<typeof permit>;

const properties = Object.fromEntries(Object.keys(permit.shape).map((name) => [name, { type: 'string' }]));

/** The same in every challenge; buyers replace `info`. The header has little room, so the schema names types alone. */
export const gasSponsoringDeclaration: Extension = {
  info: { description: 'Sign an EIP-2612 permit for Permit2; this service pays the gas.', version: '1' },
  schema: { type: 'object', properties, required: Object.keys(properties) },
};

const proofExtensions = z.object({ [gasSponsoring]: z.object({ info: permit }) });

export const readGasPermit = (extensions: unknown): GasPermit | null =>
  proofExtensions.safeParse(extensions).data?.[gasSponsoring].info ?? null;

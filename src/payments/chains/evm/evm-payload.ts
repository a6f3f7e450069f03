import { z } from 'zod';
import { integerText, type PaymentRequirements, type SignedPayload } from '../core/wire.ts';

/**
 * The contracts that carry out Permit2 payments, at the same address on every chain: Uniswap's Permit2, which takes
 * each nonce of an owner once, and x402's proxies, which pay nobody but the recipient that the buyer signed. That of
 * the scheme `upto` takes at most what the buyer signed, and obeys only the facilitator that the buyer signed.
 */
export const permit2Contracts = {
  permit2: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
  proxy: '0x402085c248EeA27D92E8b30b2C58ed07f9E20001',
  uptoProxy: '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002',
} as const;

const maxSignatureCharacters = 2_050;

const hex = (digits: string, message: string) =>
  z
    .string()
    .max(maxSignatureCharacters)
    .regex(new RegExp(`^0x[0-9a-fA-F]${digits}$`), message)
    .toLowerCase()
    .pipe(z.templateLiteral(['0x', z.string()]));
const address = hex('{40}', 'must be an EVM address');
const signature = hex('{130,}', 'must be a hex signature').refine(
  (text) => text.length % 2 === 0,
  'must be whole bytes',
);
const eip3009Payload = z.object({
  signature,
  authorization: z.object({
    from: address,
    to: address,
    value: integerText,
    validAfter: integerText,
    validBefore: integerText,
    nonce: hex('{64}', 'must be 32 bytes in hex'),
  }),
});
const permit2Payload = z.object({
  signature,
  permit2Authorization: z.object({
    from: address,
    permitted: z.object({ token: address, amount: integerText }),
    // A proxy of x402, which pays nobody but `witness.to`.
    spender: address,
    nonce: integerText,
    // Seconds since 1970.
    deadline: integerText,
    // `facilitator`: by the scheme `upto`, the only account that may settle.
    witness: z.object({ to: address, facilitator: address.optional(), validAfter: integerText }),
  }),
});

export type Eip3009Payload = z.infer<typeof eip3009Payload>;
/** A signed transfer through Permit2, which only a proxy of x402 may carry out. Integers are decimal strings. */
export type Permit2Payload = z.infer<typeof permit2Payload>;
export type EvmPayload = Eip3009Payload | Permit2Payload;

/** The schema of the way of transfer that a payload shows. Whether it is the way that was asked for, the terms say. */
export const evmPayloadSchema = (payload: unknown): z.ZodType<EvmPayload> =>
  typeof payload === 'object' &&
  payload !== null &&
  'permit2Authorization' in payload &&
  payload.permit2Authorization !== undefined
    ? permit2Payload
    : eip3009Payload;

const isEvmPayload = (payload: SignedPayload): payload is EvmPayload =>
  'authorization' in payload || 'permit2Authorization' in payload;

/** Narrows a payload that was read before. Throws TypeError for that of another family, which is a fault of ours. */
export const toEvmPayload = (payload: SignedPayload): EvmPayload => {
  if (!isEvmPayload(payload)) throw new TypeError('an EVM payment carries an authorization');
  return payload;
};

export const isSameHex = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

export const findEvmMismatch = (payload: EvmPayload, terms: PaymentRequirements): string | null => {
  if ('authorization' in payload) {
    const { to, value } = payload.authorization;
    if (!isSameHex(to, terms.payTo)) return 'payment_recipient_mismatch';
    return value === terms.amount ? null : 'payment_amount_mismatch';
  }
  const { permitted, spender, witness } = payload.permit2Authorization;
  const isUpto = terms.scheme === 'upto';
  const proxy = isUpto ? permit2Contracts.uptoProxy : permit2Contracts.proxy;
  if (!isSameHex(spender, proxy)) return 'payment_spender_mismatch';
  if (isUpto && !isSameHex(witness.facilitator ?? '', String(terms.extra['facilitatorAddress'])))
    return 'payment_facilitator_mismatch';
  if (!isSameHex(permitted.token, terms.asset)) return 'payment_asset_mismatch';
  if (!isSameHex(witness.to, terms.payTo)) return 'payment_recipient_mismatch';
  return permitted.amount === terms.amount ? null : 'payment_amount_mismatch';
};

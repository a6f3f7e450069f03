import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import {
  decodeBase64Json,
  integerText,
  UnreadablePayload,
  type PaymentScheme,
  type SignedPayload,
} from '../chains/core/wire.ts';
import type { Dialect, DialectRequest } from './dialect.ts';
import { readPaymentIdentifier, readGasPermit, type GasPermit } from './extensions.ts';
import type { PaymentNetwork } from '../chains/core/network-family.ts';
import { findNetwork, requireNetwork } from '../chains/networks.ts';

export interface Proofs {
  xPayment?: string | undefined;
  /** The header `PAYMENT-SIGNATURE`. */
  paymentSignature?: string | undefined;
  /** `_meta["x402/payment"]` of an MCP call: an object, or the base64 text of one. */
  meta?: unknown;
  /** What the request says in each dialect that is switched on. */
  dialects?: readonly (DialectRequest & { dialect: Dialect })[];
}

/** A well-formed proof. Nothing about it is verified. */
export interface Proof {
  network: PaymentNetwork;
  scheme: PaymentScheme;
  /** The terms that a v2 proof names, and the fee payer that a Solana proof was made for. Null for v1 proofs. */
  accepted: { asset: string; amount: string; payTo: string; feePayer: string | null } | null;
  payload: SignedPayload;
  /** The buyer's own identifier of the payment; null for none. */
  paymentId: string | null;
  /** The approval for Permit2 that the settlement hands in; null for none. */
  gasPermit: GasPermit | null;
}

/** Proofs are 1.0 to 3.6 KB. */
const maxProofCharacters = 16_384;
const shortText = z.string().min(1).max(128);
const exact = z.literal('exact', 'must be "exact"');
const exactOrUpto = z.enum(['exact', 'upto'], 'must be "exact" or "upto"');
const envelope = z.discriminatedUnion('x402Version', [
  z.object({ x402Version: z.literal(1), scheme: exact, network: shortText, payload: z.unknown() }),
  z.object({
    x402Version: z.literal(2),
    accepted: z.object({
      scheme: exactOrUpto,
      network: shortText,
      asset: shortText,
      amount: integerText,
      payTo: shortText,
      extra: z.looseObject({ feePayer: shortText.optional() }).nullish(),
    }),
    payload: z.unknown(),
    extensions: z.unknown().optional(),
  }),
]);

const malformed = (detail: string, cause?: unknown): AppError =>
  new AppError('invalid_payment', `The payment proof cannot be read: ${detail}.`, { cause });

const check = <T>(schema: z.ZodType<T>, value: unknown, prefix: string): T => {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = [prefix, ...(issue?.path ?? [])].filter((part) => part !== '').join('.');
  // The schema library writes sentences of its own, which begin with a capital.
  const isOwn = issue !== undefined && /^[a-z]/.test(issue.message);
  throw malformed(
    `${path === '' ? 'x402Version' : path}: ${isOwn ? issue.message : 'is missing or has a wrong form'}`,
  );
};

const decodeText = (text: string, where: string): unknown => {
  const trimmed = text.trim();
  if (trimmed.length > maxProofCharacters) throw malformed(`${where} is longer than any proof`);
  try {
    return decodeBase64Json(trimmed);
  } catch (error) {
    throw malformed(`${where} must be base64 of JSON`, error);
  }
};

/** Some clients send an empty header in place of none. */
const isPresent = (header: string | undefined): header is string =>
  header !== undefined && header.trim() !== '';

/**
 * Picks the proof that counts. Some wallets send both headers for one purchase, perhaps with two signatures, and the
 * buyer is charged once. The v2 header always wins, so that a repetition is the same payment.
 */
const pickProof = ({ xPayment, paymentSignature, meta }: Proofs): unknown => {
  if (isPresent(paymentSignature)) return decodeText(paymentSignature, 'PAYMENT-SIGNATURE');
  if (isPresent(xPayment)) return decodeText(xPayment, 'X-PAYMENT');
  return typeof meta === 'string' ? decodeText(meta, 'x402/payment') : meta;
};

export const hasProof = (proofs: Proofs | null): proofs is Proofs =>
  proofs !== null &&
  (isPresent(proofs.xPayment) ||
    isPresent(proofs.paymentSignature) ||
    (proofs.meta !== undefined && proofs.meta !== null) ||
    proofs.dialects?.some(({ credential }) => credential !== null) === true);

/**
 * Reads a proof of either version, by its own `x402Version`. `configured` are the networks as they are offered. Proofs
 * of other known networks are read too, as their payments may be older than the configuration. Throws only AppError
 * `invalid_payment`, which says what is wrong.
 */
export const parseProof = (proofs: Proofs, configured: readonly PaymentNetwork[] = []): Proof => {
  const proof = check(envelope, pickProof(proofs), '');
  const { network: name } = proof.x402Version === 1 ? proof : proof.accepted;
  const network = findNetwork(name, configured);
  if (network === null) throw malformed('its network is not one that this service knows');
  const payload = check(network.family.payloadSchema(proof.payload), proof.payload, 'payload');
  if (proof.x402Version === 1)
    return { network, scheme: 'exact', accepted: null, payload, paymentId: null, gasPermit: null };
  const { scheme, asset, amount, payTo, extra } = proof.accepted;
  return {
    network,
    scheme,
    accepted: { asset, amount, payTo, feePayer: extra?.feePayer ?? null },
    payload,
    paymentId: readPaymentIdentifier(proof.extensions),
    gasPermit: readGasPermit(proof.extensions),
  };
};

/**
 * Returns what makes a payment the same one, however it is written and whatever is configured: chain, token (or
 * Permit2), payer and nonce on EVM; cluster and signed message on Solana. Throws AppError `invalid_payment` for a
 * payload that cannot be read, and other errors for faults of this service.
 */
export const paymentIdentity = async ({ network, payload }: Proof): Promise<string> => {
  try {
    return await network.family.identify(payload, requireNetwork(network.id));
  } catch (cause) {
    if (cause instanceof UnreadablePayload) throw malformed('payload.transaction is not valid', cause);
    throw cause;
  }
};

import { createHmac, timingSafeEqual } from 'node:crypto';
import { keccak_256 } from '@noble/hashes/sha3';
import { z } from 'zod';
import { toIso } from '../../kit/clock.ts';
import { randomBase62 } from '../../kit/ids.ts';
import { canonicalJson } from '../../kit/json.ts';
import type { Nano } from '../../kit/money.ts';
import { decodeBase64Json, integerText } from '../chains/core/wire.ts';
import {
  maxTimeoutSeconds,
  offeredTerms,
  type MppProblem,
  type OfferedTerms,
  type PaymentMethod,
} from './challenge.ts';

/**
 * MPP, the machine payments protocol over HTTP: the scheme "Payment" (draft-httpauth-payment-02) with the method "evm"
 * and the intent "charge" (draft-evm-charge-01), for credentials of the type "authorization". These are ERC-3009
 * transfers, as x402 has them. Their nonce names the challenge that they answer.
 */

export interface MppRequest {
  /** The credential with its scheme, as it came; null for none. */
  credential: string | null;
  /** The request header for the credential: the second one leaves `Authorization` to a key. */
  field: 'Authorization' | 'Payment-Authorization';
}

export interface MppBinding {
  /** Shared by all processes on one store. */
  key: string;
  requestHash: string;
  field: MppRequest['field'];
}

/** A credential that answers a challenge of ours. The payment in it is not verified. */
export interface MppCredential {
  /** The same proof in x402 v2. */
  proof: object;
  challengeId: string;
  chainId: number;
  expiresAt: number;
}

/** Proofs are smaller than 3 KB. */
const maxCredentialCharacters = 16_384;
const scheme = /^Payment +([A-Za-z0-9_-]+)=* *$/i;
const saltCharacters = 11;
const method = 'evm';
const intent = 'charge';

/** The parameters of a challenge that its id is made from. */
type Words = Record<'realm' | 'method' | 'intent' | 'request' | 'expires', string>;

const text = z.string().max(4_096);
const credentialSchema = z.object({
  challenge: z.object({
    id: text,
    realm: text,
    method: text,
    intent: text,
    request: text,
    expires: text,
  }),
  payload: z.object({
    type: z.literal('authorization'),
    signature: text,
    from: text,
    to: text,
    value: text,
    validAfter: text,
    validBefore: integerText,
    nonce: text,
  }),
});
const requestSchema = z.object({
  amount: z.string(),
  currency: z.string(),
  recipient: z.string(),
  methodDetails: z.object({ chainId: z.int() }),
});

/** Returns an unpredictable salt and its HMAC over everything that the challenge is bound to. */
const challengeId = (salt: string, words: Words, { key, requestHash, field }: MppBinding): string => {
  const { realm, method, intent, request, expires } = words;
  const bound = [salt, realm, method, intent, request, expires, field, requestHash];
  return `${salt}.${createHmac('sha256', key).update(JSON.stringify(bound)).digest('base64url')}`;
};

const isOwn = ({ id, ...words }: Words & { id: string }, binding: MppBinding): boolean => {
  const expected = Buffer.from(challengeId(id.slice(0, saltCharacters), words, binding));
  const given = Buffer.from(id);
  return given.length === expected.length && timingSafeEqual(given, expected);
};

const nonceOf = ({ id, realm }: { id: string; realm: string }): string =>
  `0x${Buffer.from(keccak_256(Buffer.from(id + realm, 'utf8'))).toString('hex')}`;

const writeChallenge = (
  { method: { network }, requirements }: OfferedTerms,
  { realm, now, binding }: { realm: string; now: number; binding: MppBinding },
): string => {
  const { amount, asset, payTo } = requirements;
  const details = {
    chainId: Number(network.id.split(':')[1]),
    credentialTypes: ['authorization'],
    decimals: network.asset.decimals,
  };
  const request = { amount, currency: asset, recipient: payTo, methodDetails: details };
  const words: Words = {
    realm,
    method,
    intent,
    request: Buffer.from(canonicalJson(request)).toString('base64url'),
    expires: toIso(now + maxTimeoutSeconds * 1_000),
  };
  const id = challengeId(randomBase62(saltCharacters), words, binding);
  const header = binding.field === 'Authorization' ? {} : { header: binding.field };
  const parameters = Object.entries({ id, ...words, ...header }).map(([name, value]) => `${name}="${value}"`);
  return `Payment ${parameters.join(', ')}`;
};

/** Returns `WWW-Authenticate`: a challenge for each network whose token has ERC-3009. `realm`: the public host. */
export const writeMppChallenges = (
  terms: { methods: readonly PaymentMethod[]; price: Nano; realm: string; now: number },
  binding: MppBinding,
): string =>
  offeredTerms(terms.methods, terms.price)
    .filter(({ method: { network } }) => network.asset.transfer === 'eip3009')
    .map((offered) => writeChallenge(offered, { ...terms, binding }))
    .join(', ');

const decode = (credential: string): unknown => {
  const [, encoded] = credential.length > maxCredentialCharacters ? [] : (scheme.exec(credential) ?? []);
  try {
    return encoded === undefined ? null : decodeBase64Json(encoded);
  } catch {
    return null;
  }
};

/**
 * Reads a credential that answers a challenge for this very request. The authorization must end with its challenge, so
 * that no expired challenge is paid, and a repetition still gets its answer.
 */
export const readMppCredential = (
  credential: string,
  binding: MppBinding,
): MppCredential | { problem: MppProblem } => {
  const read = credentialSchema.safeParse(decode(credential));
  if (!read.success) return { problem: mppProblem('malformed-credential') };
  const { challenge, payload } = read.data;
  if (!isOwn(challenge, binding)) return { problem: mppProblem('invalid-challenge') };
  const { amount, currency, recipient, methodDetails } = requestSchema.parse(
    decodeBase64Json(challenge.request),
  );
  const { type: _type, signature, ...authorization } = payload;
  const expiresAt = Date.parse(challenge.expires);
  if (payload.nonce.toLowerCase() !== nonceOf(challenge))
    return { problem: mppProblem('verification-failed', 'The nonce is not the one of the challenge.') };
  if (BigInt(payload.validBefore) * 1_000n > BigInt(expiresAt))
    return { problem: mppProblem('verification-failed', 'validBefore is later than the challenge expires.') };
  const { chainId } = methodDetails;
  return {
    proof: {
      x402Version: 2,
      accepted: {
        scheme: 'exact',
        network: `eip155:${chainId}`,
        asset: currency,
        amount,
        payTo: recipient,
      },
      payload: { signature, authorization },
    },
    challengeId: challenge.id,
    chainId,
    expiresAt,
  };
};

const problems = {
  'malformed-credential': ['Malformed Credential', 'The payment credential cannot be read.'],
  'invalid-challenge': ['Invalid Challenge', 'The credential answers no challenge for this request.'],
  'payment-expired': ['Payment Expired', 'The challenge has expired.'],
  'verification-failed': ['Verification Failed', 'The payment was refused.'],
} as const;

/** Returns a problem of the draft (RFC 9457). Its status is always 402. */
export const mppProblem = (name: keyof typeof problems, detail?: string): MppProblem => {
  const [title, usual] = problems[name];
  return {
    type: `https://paymentauth.org/problems/${name}`,
    title,
    status: 402,
    detail: `${detail ?? usual} Nothing was charged. Pay one of the new challenges.`,
  };
};

/** Returns the value of `Payment-Receipt`. `settledAt`: epoch milliseconds. */
export const writeMppReceipt = (
  { challengeId, chainId }: MppCredential,
  { transaction, settledAt }: { transaction: string; settledAt: number },
): string =>
  Buffer.from(
    JSON.stringify({
      method,
      challengeId,
      reference: transaction,
      status: 'success',
      timestamp: toIso(settledAt),
      chainId,
    }),
  ).toString('base64url');

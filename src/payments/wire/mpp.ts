import { createHmac, timingSafeEqual } from 'node:crypto';
import { keccak_256 } from '@noble/hashes/sha3';
import { z } from 'zod';
import { toIso } from '../../kit/clock.ts';
import { randomBase62 } from '../../kit/ids.ts';
import { canonicalJson } from '../../kit/json.ts';
import { decodeBase64Json, integerText, parseBase64Json } from '../chains/core/wire.ts';
import { maxTimeoutSeconds, offeredTerms, type DialectProblem, type OfferedTerms } from './challenge.ts';
import type { Credential, Dialect, DialectBinding } from './dialect.ts';

/**
 * MPP, the machine payments protocol over HTTP: the scheme "Payment" (draft-httpauth-payment-02) with the method "evm"
 * and the intent "charge" (draft-evm-charge-01), for credentials of the type "authorization". These are ERC-3009
 * transfers, as x402 has them. Their nonce names the challenge that they answer.
 */

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
const challengeId = (salt: string, words: Words, { key, requestHash, field }: DialectBinding): string => {
  const { realm, method, intent, request, expires } = words;
  const bound = [salt, realm, method, intent, request, expires, field, requestHash];
  return `${salt}.${createHmac('sha256', key).update(JSON.stringify(bound)).digest('base64url')}`;
};

const isOwn = ({ id, ...words }: Words & { id: string }, binding: DialectBinding): boolean => {
  const expected = Buffer.from(challengeId(id.slice(0, saltCharacters), words, binding));
  const given = Buffer.from(id);
  return given.length === expected.length && timingSafeEqual(given, expected);
};

const nonceOf = ({ id, realm }: { id: string; realm: string }): string =>
  `0x${Buffer.from(keccak_256(Buffer.from(id + realm, 'utf8'))).toString('hex')}`;

const writeChallenge = (
  { method: { network }, requirements }: OfferedTerms,
  { realm, now, binding }: { realm: string; now: number; binding: DialectBinding },
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

/** Writes a challenge for each network whose token has ERC-3009. */
const writeTerms: Dialect['writeTerms'] = ({ methods, price, ...at }, binding) =>
  offeredTerms(methods, price)
    .filter(({ method: { network } }) => network.asset.transfer === 'eip3009')
    .map((offered) => ['www-authenticate', writeChallenge(offered, { ...at, binding })]);

const decode = (credential: string): unknown =>
  credential.length > maxCredentialCharacters ? undefined : parseBase64Json(scheme.exec(credential)?.[1]);

/** The authorization must end with its challenge, so that no expired challenge is paid, and a repetition still gets its answer. */
const readCredential = (
  credential: string,
  binding: DialectBinding,
): Credential | { problem: DialectProblem } => {
  const read = credentialSchema.safeParse(decode(credential));
  if (!read.success) return { problem: toProblem('malformed-credential') };
  const { challenge, payload } = read.data;
  if (!isOwn(challenge, binding)) return { problem: toProblem('invalid-challenge') };
  const { amount, currency, recipient, methodDetails } = requestSchema.parse(
    decodeBase64Json(challenge.request),
  );
  const { type: _type, signature, ...authorization } = payload;
  const expiresAt = Date.parse(challenge.expires);
  if (payload.nonce.toLowerCase() !== nonceOf(challenge))
    return { problem: toProblem('verification-failed', 'The nonce is not the one of the challenge.') };
  if (BigInt(payload.validBefore) * 1_000n > BigInt(expiresAt))
    return { problem: toProblem('verification-failed', 'validBefore is later than the challenge expires.') };
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
    refuse: (reason, now) => {
      if (reason === null) return toProblem('malformed-credential');
      return expiresAt <= now
        ? toProblem('payment-expired')
        : toProblem('verification-failed', `The payment was refused: ${reason}.`);
    },
    writeReceipt: ({ transaction, settledAt }) => {
      const receipt = {
        method,
        challengeId: challenge.id,
        reference: transaction,
        status: 'success',
        timestamp: toIso(settledAt),
        chainId,
      };
      return { 'payment-receipt': Buffer.from(JSON.stringify(receipt)).toString('base64url') };
    },
  };
};

const problems = {
  'malformed-credential': ['Malformed Credential', 'The payment credential cannot be read.'],
  'invalid-challenge': ['Invalid Challenge', 'The credential answers no challenge for this request.'],
  'payment-expired': ['Payment Expired', 'The challenge has expired.'],
  'verification-failed': ['Verification Failed', 'The payment was refused.'],
} as const;

/** Returns a problem of the draft. Its status is always 402. */
const toProblem = (name: keyof typeof problems, detail?: string): DialectProblem => {
  const [title, usual] = problems[name];
  return {
    type: `https://paymentauth.org/problems/${name}`,
    title,
    status: 402,
    detail: `${detail ?? usual} Nothing was charged. Pay one of the new challenges.`,
  };
};

const isCredential = (authorization: string): boolean => /^Payment /i.test(authorization);

export const mpp = {
  name: 'MPP',
  setting: 'X402_MPP',
  settingText: 'sells to clients of [MPP](agents-and-payments.md#machine-payments-mpp) over REST, too',
  requestHeaders: ['Authorization', 'Payment-Authorization'],
  responseHeaders: ['WWW-Authenticate', 'Payment-Receipt'],
  isCredential,
  /** The header `Payment-Authorization` leaves `Authorization` to a key. */
  readRequest: ({ authorization, 'payment-authorization': separate }) =>
    separate === undefined && (authorization === undefined || isCredential(authorization))
      ? { credential: authorization ?? null, field: 'Authorization' }
      : { credential: separate?.toString() ?? null, field: 'Payment-Authorization' },
  writeTerms,
  readCredential,
} as const satisfies Dialect;

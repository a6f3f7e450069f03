import { soldOperation } from '../define-operation.ts';
import { z } from 'zod';
import { toIso } from '../../kit/clock.ts';
import { AppError } from '../../kit/errors.ts';
import { formatUsd } from '../../kit/money.ts';
import { openWalletAccount } from '../../payments/records/wallet-account.ts';
import { signInFields, signInPath, signInWithX } from '../../payments/sale/gate.ts';
import { time, usd } from '../answer-fields.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { AnswerParts } from '../answer.ts';
import type { Call, Services } from '../call.ts';
import type { SignInSale } from '../sale.ts';
import { leastTopUp, topUp } from './top-up.ts';
import { keyMember } from '../../accounts/authenticate.ts';
import { issueSignInKey, maxSignInKeys } from '../../accounts/keys.ts';

const usualSeconds = 24 * 3_600;
/** The longest life of a key from a sign-in. */
export const maxSignInSeconds = 30 * usualSeconds;

const input = z.object({
  expires_in: z
    .int()
    .min(60)
    .max(maxSignInSeconds)
    .default(usualSeconds)
    .describe(`Seconds until the key ends, 60 to ${maxSignInSeconds}. Default: ${usualSeconds}, a day.`),
  ...z.object(signInFields).partial().shape,
  type: z.string().max(20).optional().describe('As in the challenge. `chainId` says the same.'),
});

type SignInInput = z.output<typeof input>;
export type SignInServices = Pick<Services, 'store' | 'clock' | 'config' | 'x402' | 'publicUrl'>;

const output = z.looseObject({
  object: z.literal('sign_in').describe('`topup`: a payment came in place of a signed message.'),
  key: z.string().describe('The whole key. It is shown only now.'),
  key_id: z.string(),
  expires_at: time,
  account: z.looseObject({ wallet: z.string(), balance_usd: usd }),
});

/** Issues a key of the account of the wallet that signed a message. Throws AppError. */
export const signWalletIn = async (
  services: Omit<SignInServices, 'publicUrl'>,
  { message, lifeMs, signal }: { message: unknown; lifeMs: number; signal: AbortSignal },
) => {
  const wallet = await services.x402.signIn(message, signal);
  const { brand, x402 } = services.config;
  const account = await openWalletAccount(services, { wallet, isSandbox: !x402.takesRealMoney });
  if (account.status !== 'active')
    throw new AppError('permission_denied', 'The account of this wallet is suspended. Ask the operator.');
  const issued = await issueSignInKey(services, { accountId: account.id, brand, lifeMs });
  return { wallet, account, ...issued };
};

/**
 * Exchanges a signed message for a key of the wallet's account. Over MCP the key stands in `_meta` alone, which the program
 * of the client reads: it must not pass through a model.
 */
const signIn = async (
  { expires_in: seconds, ...fields }: SignInInput,
  services: SignInServices,
  { signIn: header, signal, transport }: SignInCall,
): Promise<AnswerParts> => {
  const { wallet, account, key, apiKey, expiresAt } = await signWalletIn(services, {
    message: header ?? fields,
    lifeMs: seconds * 1_000,
    signal,
  });
  const expires = toIso(expiresAt);
  const balance = formatUsd(account.available);
  const body = {
    object: 'sign_in',
    ...(transport === 'rest' ? { key } : {}),
    key_id: apiKey.id,
    expires_at: expires,
    account: { wallet, balance_usd: balance },
  };
  const name = keyMember(services.config);
  const text =
    `${wallet} is signed in until ${expires}; its balance is $${balance}. The client has the key from _meta["${name}"], ` +
    'and sends it there with each later call.';
  return { body, meta: { [name]: key }, toText: () => ({ text, more: null }) };
};

type SignInCall = Pick<Call, 'signIn' | 'signal' | 'transport'>;

/** Answers a tool call with the challenge. Over MCP it sells nothing, as a client that pays by itself would never sign. */
const answerChallenge = async ({ x402, publicUrl }: SignInServices): Promise<AnswerParts> => {
  const extensions = x402.declareSignIn();
  if (extensions === null)
    throw new AppError('upstream_unavailable', 'Nobody can sign in just now. Try again shortly.', {
      retryAfterSeconds: 5,
    });
  const text =
    `Sign the message of extensions["${signInWithX}"] with the wallet, and call sign_in again with the fields of its info, ` +
    'address, chainId and signature.';
  // Every extension is JSON.
  const challenge = {
    x402Version: 2,
    error: text,
    resource: { url: `${publicUrl()}${signInPath}` },
    accepts: [],
    extensions,
  } as object as JsonObject;
  return { body: challenge, meta: { 'x402/error': challenge }, toText: () => ({ text, more: null }) };
};

/** The arguments with which the usual challenge is answered. */
const challengeFields =
  'domain uri version nonce issuedAt expirationTime statement chainId address signature';

const { sandbox } = topUp.sale;
const amount = formatUsd(leastTopUp);

/**
 * The challenge is a 402 that sells balance, because stock clients look for it nowhere else, and some only beside an
 * offer. Who pays in place of signing gets the balance, and no key: everybody can read a proof on the chain. The balance
 * is that of the wallet that pays, whatever key comes with the call.
 */
const sale: SignInSale<SignInInput, SignInServices> = {
  kind: 'signIn',
  description: 'Top-up of a balance, or a sign-in free of charge',
  unit: { one: 'sign-in', many: 'sign-ins' },
  tags: ['balance', 'sign-in'],
  example: { input: {}, output: { object: 'topup', amount_usd: amount } },
  ratePerMinute: 30,
  pricing: 'least amount',
  priceRange: () => ({ least: leastTopUp, most: leastTopUp }),
  quote: () => ({
    price: leastTopUp,
    parts: {
      note:
        'Signing in is free: sign the challenge in extensions["sign-in-with-x"] of PAYMENT-REQUIRED, and send this request ' +
        `again with the header SIGN-IN-WITH-X. A payment of these terms tops the wallet up by $${amount}.`,
    },
  }),
  signIn: (fields, call, services) => {
    if (call.signIn !== undefined || fields.signature !== undefined) return signIn(fields, services, call);
    return call.transport === 'mcp' ? answerChallenge(services) : null;
  },
  answer: () => ({ object: 'topup', amount_usd: amount }),
  sandbox: { ...sandbox, description: 'Top-up with sandbox credit, or a sign-in free of charge' },
};

/** Signs a wallet in. */
export const signInWithWallet = soldOperation<SignInInput, typeof sale>({
  name: 'sign_in',
  title: 'Sign in with a wallet',
  description:
    'Exchanges a message that a wallet signed (x402 extension sign-in-with-x; EVM wallets, contracts too, and Solana) for ' +
    "an API key of the wallet's own account. The key is shown once, ends by itself, and is listed and revoked at /v1/keys. " +
    `A wallet can use ${maxSignInKeys} such keys at once; one more revokes the oldest. Without a signed message it answers 402 ` +
    'with a challenge to sign, good for five minutes and one use. Free.',
  input,
  output,
  rest: { path: signInPath, isBodyOptional: true, errors: ['invalid_sign_in'] },
  tool: { main: challengeFields.split(' ') },
  docs: {
    answer: 'SignIn',
    examples: [
      {
        summary: 'A key for an hour, with the signed message in the header',
        body: { expires_in: 3_600 },
        answer: {
          object: 'sign_in',
          key: 'sk_causeway_…',
          key_id: '019ab1c2-3d4e-7f60-8a9b-0c1d2e3f4a5b',
          expires_at: '2026-11-23T11:00:00.000Z',
          account: { wallet: 'eip155:0x209693bc6afc0c5328ba36faf03c514ef312287c', balance_usd: '4.20' },
        },
      },
    ],
    wrong: { expires_in: 1 },
  },
  sale,
});

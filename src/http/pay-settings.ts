import { z } from 'zod';
import { ConfigError } from '../kit/errors.ts';
import { amountText } from '../kit/settings.ts';
import { parseUsd, type Nano } from '../kit/money.ts';
import type { HttpClient } from './http-client.ts';

/** How an upstream that is sold by x402 is paid. */
export interface PayConfig {
  /** The setting, for errors. */
  setting: string;
  /** Secret keys of wallets. */
  keys: readonly string[];
  maxPerCall: Nano;
  /** In a UTC day, over all processes. */
  maxPerDay: Nano;
  /** CAIP-2 names or the usual ones, the preferred one first. */
  networks: readonly string[];
}

/** Makes a client that pays for answers which are sold. `upstream` names the source or provider in the records. */
export type PayFor = (http: HttpClient, of: { upstream: string; pay: PayConfig }) => HttpClient;

/** What came of one try of a call: a result, or the terms of x402 v2 that the server asks for in place of one. */
export interface TriedCall<Result> {
  result: Result;
  /** Null: it asks for none. A text is in base64, as is that of a receipt. */
  terms: unknown;
  receipt: unknown;
  /** Set if the server has no room now, and may take the same proof later. `retryAfter`: the header of that name. */
  busy?: { retryAfter: string | string[] | undefined };
}

/** The proof of a payment: as an object, and in base64 for a header. */
export interface CallProof {
  payload: unknown;
  header: string;
}

interface SoldCall {
  name: string;
  input: unknown;
  /** Nothing above it is paid. */
  maxPrice: Nano;
  signal: AbortSignal;
}

/** Makes a call of a server that sells its calls, and pays for it if it has to. Rejects with PurchaseError, or as a try does. */
export type PayingCaller = <Result>(
  call: SoldCall,
  attempt: (proof: CallProof | null) => Promise<TriedCall<Result>>,
) => Promise<Result>;

export type PayForCalls = (of: { upstream: string; pay: PayConfig }) => PayingCaller;

/** An answer that is sold was not got. The message is for the log. */
export class PurchaseError extends Error {
  override readonly name = 'PurchaseError';
  /** False: no money moves for this call. True: it may have, or still may. */
  readonly mayBePaid: boolean;

  constructor(message: string, options: { mayBePaid: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.mayBePaid = options.mayBePaid;
  }
}

const usd = amountText.refine((text) => /^(?!0+(?:\.0+)?$)\d{1,9}(?:\.\d{1,9})?$/.test(text), {
  message: 'must be an amount above zero, such as "0.10"',
});
const variable = z.string().min(1).max(100);

/** The key `pay` of a source or provider. */
export const paySettings = z.strictObject({
  x402: z
    .strictObject({
      wallet_env: z
        .union([variable, z.array(variable).min(1).max(2)])
        .describe('variable with the key of your wallet; a list for one of EVM and one of Solana'),
      max_usd_per_call: usd.describe('the most that one answer may cost, such as `"0.10"`'),
      max_usd_per_day: usd.describe('the most that all processes spend there in a UTC day'),
      networks: z
        .array(z.string().min(1).max(100))
        .min(1)
        .max(8)
        .describe('networks on which you pay, such as `base`, by preference'),
    })
    .describe('by x402, from a wallet of yours'),
});

interface Origin {
  setting: string;
  environment: Record<string, string | undefined>;
}

/** Reads `pay`; null when it is not set. Throws ConfigError with one line that names the setting. */
export const readPay = (
  given: z.output<typeof paySettings> | undefined,
  { setting, environment }: Origin,
): PayConfig | null => {
  if (given === undefined) return null;
  const { wallet_env: variables, networks, ...limits } = given.x402;
  const at = `causeway.yaml: ${setting}.pay.x402`;
  const keys = [variables].flat().map((name) => {
    const key = environment[name];
    if (key === undefined || key === '')
      throw new ConfigError(`${at}.wallet_env: the environment variable ${name} is not set`);
    return key;
  });
  const maxPerCall = parseUsd(limits.max_usd_per_call);
  const maxPerDay = parseUsd(limits.max_usd_per_day);
  if (maxPerCall > maxPerDay)
    throw new ConfigError(`${at}.max_usd_per_call: must not be above max_usd_per_day`);
  return { setting: at, keys, maxPerCall, maxPerDay, networks };
};

import type { Caller } from '../../accounts/authenticate.ts';
import { AppError } from '../../kit/errors.ts';
import { isJsonObject } from '../../kit/json.ts';
import type { Nano } from '../../kit/money.ts';
import { maxSignInSeconds, signWalletIn } from '../../operations/account/sign-in.ts';
import type { Services } from '../../operations/call.ts';
import { limitFields } from '../../operations/keys/key-fields.ts';
import type { KeyLimits } from '../../rules/key-limits.ts';

export interface SignInOptions extends Pick<Services, 'store' | 'clock' | 'config' | 'x402'> {
  authenticate: (authorization: string) => Promise<Caller | null>;
}

/** The account of a person, and the key whose end is also that of the connection. */
type SignedInBy = Pick<Caller, 'accountId' | 'keyId'>;

/** What a person allows with the form. */
export interface Consent extends SignedInBy {
  budgets: Pick<KeyLimits, 'budgetDay' | 'budgetTotal'>;
  allowed: string[];
}

/** Returns what a person allows with the form; a text for them if that cannot be. */
export const readConsent = async (
  form: URLSearchParams,
  { asked, requestId }: { asked: readonly string[]; requestId: string },
  options: SignInOptions,
): Promise<Consent | string> => {
  const budgetDay = readBudget(form.get('budget_day_usd') ?? '');
  const budgetTotal = readBudget(form.get('budget_total_usd') ?? '');
  if (budgetDay === undefined || budgetTotal === undefined)
    return 'A limit must be US dollars above zero, such as 5.00.';
  if ((budgetDay ?? budgetTotal) === null) return 'Set a limit by day or in all.';
  const allowed = asked.filter((scope) => form.getAll('scope').includes(scope));
  if (allowed.length === 0) return 'Allow at least one of these.';
  const signed = form.get('wallet') ?? '';
  const signedIn = await (signed === ''
    ? signInWithKey(form.get('key')?.trim() ?? '', options)
    : signInWithWallet(signed, requestId, options));
  return typeof signedIn === 'string'
    ? signedIn
    : { ...signedIn, budgets: { budgetDay, budgetTotal }, allowed };
};

const signInWithKey = async (key: string, { authenticate }: SignInOptions): Promise<SignedInBy | string> => {
  const caller = await authenticate(`Bearer ${key}`).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'invalid_api_key') return null;
    throw error;
  });
  return caller ?? 'There is no such key, or it has ended.';
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

const walletRefusals = new Set([
  'invalid_sign_in',
  'permission_denied',
  'overloaded',
  'upstream_unavailable',
]);

/** Signs the wallet in for as long as a key of a sign-in can live. That key is the maker of the connection. */
const signInWithWallet = async (
  signed: string,
  requestId: string,
  options: SignInOptions,
): Promise<SignedInBy | string> => {
  const message = parseJson(signed);
  if (!options.config.wallets.isOn || !isJsonObject(message) || message['requestId'] !== requestId)
    return 'The signature is not of this request. Sign again.';
  try {
    const signal = AbortSignal.timeout(signInMs);
    const lifeMs = maxSignInSeconds * 1_000;
    const { account, apiKey } = await signWalletIn(options, { message, lifeMs, signal });
    return { accountId: account.id, keyId: apiKey.id };
  } catch (error) {
    if (error instanceof AppError && walletRefusals.has(error.code)) return error.message;
    throw error;
  }
};

const signInMs = 10_000;

/** Null for no budget; undefined for an amount that none can have. */
const readBudget = (text: string): Nano | null | undefined =>
  text.trim() === '' ? null : limitFields.budget_day_usd.safeParse(text.trim()).data;

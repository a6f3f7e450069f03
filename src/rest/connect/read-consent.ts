import type { Caller } from '../../accounts/authenticate.ts';
import { hasCode, instead } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { Nano } from '../../kit/money.ts';
import { maxSignInSeconds, signWalletIn } from '../../operations/account/sign-in.ts';
import { askAboveField, limitFields } from '../../operations/keys/key-fields.ts';
import type { KeyLimits } from '../../rules/key-limits.ts';
import { readSignIn, type SignInOptions } from './read-sign-in.ts';

/** The account of a person, and the key whose end is also that of the connection. */
type SignedInBy = Pick<Caller, 'accountId' | 'keyId'>;

/** What a person allows with the form. */
export interface Consent extends SignedInBy {
  budgets: Pick<KeyLimits, 'budgetDay' | 'budgetTotal'>;
  askAbove: Nano | null;
  allowed: string[];
  /** The mounted servers whose tools are allowed. */
  servers: string[];
}

/** Each leaves rows, also if no token comes of it. */
const connectionsPerMinute = 30;

/** Returns what a person allows with the form; a text for them if that cannot be. */
export const readConsent = async (
  form: URLSearchParams,
  { asked, ...page }: { asked: readonly string[]; requestId: string; clientAddress: string },
  options: SignInOptions,
): Promise<Consent | string> => {
  const budgetDay = readAmount(form, 'budget_day_usd', limitFields.budget_day_usd);
  const budgetTotal = readAmount(form, 'budget_total_usd', limitFields.budget_total_usd);
  const askAbove = readAmount(form, 'ask_above_usd', askAboveField);
  if (budgetDay === undefined || budgetTotal === undefined)
    return 'A limit must be US dollars above zero, such as 5.00.';
  if (askAbove === undefined) return 'The price above which you are asked must be US dollars, such as 1.00.';
  if ((budgetDay ?? budgetTotal) === null) return 'Set a limit by day or in all.';
  const ticked = asked.filter((scope) => form.getAll('scope').includes(scope));
  const allowed = [...new Set(ticked.map((scope) => scope.replace(/:.*/, '')))];
  const servers = ticked.flatMap((scope) => scope.split(':').slice(1));
  if (allowed.length === 0) return 'Allow at least one of these.';
  /** Signs the wallet in for as long as a key of a sign-in can live. That key is the maker of the connection. */
  const useWallet = async (message: JsonObject, signal: AbortSignal): Promise<SignedInBy> => {
    const lifeMs = maxSignInSeconds * 1_000;
    const { account, apiKey } = await signWalletIn(options, { message, lifeMs, signal });
    return { accountId: account.id, keyId: apiKey.id };
  };
  const signedIn = await readSignIn(form, { ...page, useWallet }, options);
  if (typeof signedIn === 'string') return signedIn;
  const { accountId, keyId } = signedIn;
  // A wallet's are counted before it signs in, with its sign-ins.
  const counted =
    'limits' in signedIn &&
    (await options.accountLimiter
      .consume(accountId, connectionsPerMinute, 'connections')
      .catch(instead(null, hasCode('rate_limit_exceeded'))));
  if (counted === null) return 'This account makes too many connections. Try again in a minute.';
  return { accountId, keyId, budgets: { budgetDay, budgetTotal }, askAbove, allowed, servers };
};

/** Null for an empty field; undefined for an amount that cannot be. */
const readAmount = (
  form: URLSearchParams,
  name: string,
  field: typeof askAboveField,
): Nano | null | undefined => {
  const text = form.get(name)?.trim() ?? '';
  return text === '' ? null : field.safeParse(text).data;
};

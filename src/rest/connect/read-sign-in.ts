import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../accounts/authenticate.ts';
import { AppError, hasCode, instead } from '../../kit/errors.ts';
import { isJsonObject, type JsonObject, parseJson } from '../../kit/json.ts';
import { readBody } from '../../kit/streams.ts';
import { signInWithWallet } from '../../operations/account/sign-in.ts';
import type { Services } from '../../operations/call.ts';

export interface SignInOptions extends Pick<
  Services,
  'store' | 'clock' | 'config' | 'x402' | 'addressLimiters' | 'accountLimiter'
> {
  authenticate: (authorization: string) => Promise<Caller | null>;
}

const maxFormBytes = 30_000;

/** Reads the form that a page sends. Throws AppError. */
export const readForm = async (request: IncomingMessage): Promise<URLSearchParams> => {
  const body = await readBody(request, maxFormBytes);
  if (body === null) throw new AppError('payload_too_large', 'The form is too long.');
  return new URLSearchParams(body.toString());
};

/**
 * Returns whom the form of a page signs in, by an API key or by the signature of a wallet; a text for them if it signs in
 * nobody. A message that was signed for another page than `requestId` counts for nothing.
 */
export const readSignIn = async <SignedIn>(
  form: URLSearchParams,
  {
    requestId,
    clientAddress,
    useWallet,
  }: {
    requestId: string;
    clientAddress: string;
    useWallet: (message: JsonObject, signal: AbortSignal) => Promise<SignedIn>;
  },
  options: SignInOptions,
): Promise<Pick<Caller, 'accountId' | 'keyId' | 'limits'> | SignedIn | string> => {
  const signed = form.get('wallet') ?? '';
  if (signed === '') return signInWithKey(form.get('key')?.trim() ?? '', options);
  const message = parseJson(signed);
  if (!options.config.wallets.isOn || !isJsonObject(message) || message['requestId'] !== requestId)
    return signAgain;
  try {
    // Each may ask a chain's node, as a sign-in over REST does, with which these are counted.
    await options.addressLimiters.get(signInWithWallet.name)?.consume(clientAddress);
    return await useWallet(message, AbortSignal.timeout(signInMs));
  } catch (error) {
    if (hasCode('invalid_sign_in')(error)) return signAgain;
    if (error instanceof AppError && walletRefusals.has(error.code)) return error.message;
    throw error;
  }
};

const signAgain = 'The signature is not of this request, or too old. Sign again.';

const signInMs = 10_000;

const walletRefusals = new Set([
  'permission_denied',
  'overloaded',
  'upstream_unavailable',
  'rate_limit_exceeded',
]);

/** Returns whom an API key signs in; a text for people if it signs in nobody. */
export const signInWithKey = async (key: string, options: SignInOptions): Promise<Caller | string> => {
  const caller = await options.authenticate(`Bearer ${key}`).catch(instead(null, hasCode('invalid_api_key')));
  return caller ?? 'There is no such key, or it has ended.';
};

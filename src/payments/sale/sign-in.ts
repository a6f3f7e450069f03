import type { Clock } from '../../kit/clock.ts';
import { AppError } from '../../kit/errors.ts';
import { randomBase62 } from '../../kit/ids.ts';
import type { Log } from '../../kit/log.ts';
import { memoizeAsync } from '../../kit/memoize.ts';
import { decodeBase64Json, type Extensions } from '../chains/core/wire.ts';
import type { SignInStyle } from '../chains/core/network-family.ts';
import type { PaymentMethod } from '../wire/challenge.ts';
import { isNodeTrouble } from '../chains/core/json-rpc.ts';
import {
  newSignInNonce,
  readSignInNonce,
  declareSignIn,
  newSignInMessage,
  findSignInFault,
  parseSignedMessage,
  toSignedText,
  signInLifeMs,
  signInWithX,
  type SignedMessage,
} from '../wire/sign-in-with-x.ts';
import type { Store } from '../../store/store.ts';

/** Where wallets sign in, below the base URL. */
export const signInPath = '/v1/auth/wallet';

const nodeMs = 5_000;
/** Signatures that are checked at once: one takes 5 ms of the processor, or calls a node. */
const maxUnderWay = 16;
const maxCharacters = 16_384;

const refused = (detail: string): AppError =>
  new AppError(
    'invalid_sign_in',
    `The sign-in does not count: ${detail}. Ask POST ${signInPath} for a new challenge, and sign that.`,
    { headers: { 'www-authenticate': 'Bearer' } },
  );

/** Stands for the address in the text of a prompt. */
export const addressMark = '{address}';

export interface SignInPrompt {
  type: SignInStyle['type'];
  /** What is sent back with `address` and `signature`. */
  fields: Omit<SignedMessage, 'address' | 'signature'>;
  text: string;
}

interface SignInContext {
  store: Pick<Store, 'getOrCreateSecret' | 'spendNonce'>;
  methods: readonly PaymentMethod[];
  publicUrl: () => string;
  clock: Clock;
  log: Log;
}

export const createSignIn = (context: SignInContext) => {
  const { store, methods, publicUrl, clock, log } = context;
  let loaded: string | null = null;
  let underWay = 0;
  /** Shared by every process on one store, so that each knows the nonces of all. */
  const loadSecret = memoizeAsync(async () => {
    loaded = await store.getOrCreateSecret({ name: 'sign-in-nonces', value: randomBase62(43) });
    return loaded;
  });

  const check = async (sent: unknown, client: AbortSignal): Promise<string> => {
    const message = parseSignedMessage(sent);
    if (typeof message === 'string') throw refused(message);
    const now = clock.now();
    const fault = findSignInFault(message, { publicUrl: publicUrl(), now });
    if (fault !== null) throw refused(fault);
    const madeAt = readSignInNonce(message.nonce, await loadSecret());
    if (madeAt === null) throw refused('nonce: was not made by this service');
    if (now - madeAt > signInLifeMs) throw refused('nonce: is older than five minutes');
    const wallet = await findWallet(methods, message, client);
    // Last, so that only the wallet can use it up. The row outlives the nonce, whatever the clocks say.
    const isFirst = await store.spendNonce({ nonce: message.nonce, expiresAt: madeAt + 2 * signInLifeMs });
    if (!isFirst) throw refused('nonce: was used before');
    return wallet;
  };

  return {
    /** Loads the secret behind the nonces. Never rejects: when the store fails, the next call asks it again. */
    load: async (): Promise<void> => {
      try {
        await loadSecret();
      } catch (error) {
        log.error(
          { err: error },
          'the secret of sign-ins could not be loaded; no challenge offers to sign in',
        );
      }
    },
    /** Makes a challenge, each time a new one. Null until the secret is loaded. */
    declare: (): Extensions | null => {
      if (loaded === null) return null;
      const now = clock.now();
      return {
        [signInWithX]: declareSignIn({
          url: `${publicUrl()}${signInPath}`,
          nonce: newSignInNonce(loaded, now),
          chains: methods.map(({ network }) => ({ chainId: network.id, type: network.family.signIn.type })),
          now,
        }),
      };
    },
    /** Makes the messages of one challenge, each for a wallet of another kind. */
    prompt: async (bound: Pick<SignedMessage, 'statement' | 'requestId'>): Promise<SignInPrompt[]> => {
      const now = clock.now();
      const nonce = newSignInNonce(await loadSecret(), now);
      return toPrompts(methods, { ...newSignInMessage({ url: publicUrl(), nonce, now }), ...bound });
    },
    /**
     * Checks a signed message, the base64 text of the header or the object, and uses its nonce up. Returns the name of the
     * wallet. Throws AppError `invalid_sign_in`, `upstream_unavailable`, `overloaded`.
     */
    check: async (sent: unknown, client: AbortSignal): Promise<string> => {
      if (underWay >= maxUnderWay)
        throw new AppError('overloaded', 'Too many wallets sign in at once. Try again.', {
          retryAfterSeconds: 1,
        });
      underWay += 1;
      try {
        return await check(typeof sent === 'string' ? decodeHeader(sent) : sent, client);
      } finally {
        underWay -= 1;
      }
    },
  };
};

const toPrompts = (
  methods: readonly PaymentMethod[],
  message: Omit<SignInPrompt['fields'], 'chainId'>,
): SignInPrompt[] => {
  const kinds = new Map(methods.toReversed().map(({ network }) => [network.family, network.id]));
  return [...kinds].map(([{ signIn: style }, chainId]) => {
    const fields = { ...message, chainId };
    return { type: style.type, fields, text: toSignedText({ ...fields, address: addressMark }, style) };
  });
};

const findWallet = async (
  methods: readonly PaymentMethod[],
  message: SignedMessage,
  client: AbortSignal,
): Promise<string> => {
  const method = methods.find(({ network }) => network.id === message.chainId);
  if (method === undefined)
    throw refused(`chainId: must be one of ${methods.map(({ network }) => network.id).join(', ')}`);
  const text = toSignedText(message, method.network.family.signIn);
  const { address, signature, chainId } = message;
  const signal = AbortSignal.any([client, AbortSignal.timeout(nodeMs)]);
  try {
    const wallet = await method.findSigner({ text, address, signature, network: chainId }, signal);
    if (wallet !== null) return wallet;
  } catch (cause) {
    client.throwIfAborted();
    if (!isNodeTrouble(cause)) throw cause;
    throw new AppError(
      'upstream_unavailable',
      `Contracts on ${method.network.label} cannot be asked right now. Send the same sign-in again shortly.`,
      { cause, retryAfterSeconds: 5 },
    );
  }
  throw refused('signature: is not of this message and address');
};

const decodeHeader = (text: string): unknown => {
  try {
    if (text.length > maxCharacters) throw new RangeError('longer than any header');
    return decodeBase64Json(text.trim());
  } catch {
    throw refused('SIGN-IN-WITH-X: must be base64 of JSON');
  }
};

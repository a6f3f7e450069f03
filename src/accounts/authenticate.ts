import type { WalletConfig } from './catalog/wallet-settings.ts';
import { toIso, type Clock } from '../kit/clock.ts';
import { AppError, hasCode, instead } from '../kit/errors.ts';
import { sha256 } from '../kit/ids.ts';
import type { OperatorKey, Store } from '../store/store.ts';
import { goodsOf, signInMaker } from '../rules/key-limits.ts';
import type { Nano } from '../kit/money.ts';

/** What a person may allow an assistant. */
export const scopes = ['read', 'generate', 'search', 'tools'] as const;

/** The caller: a valid key of an active account, read from the store when the request arrived. */
export interface Caller {
  accountId: string;
  keyId: string;
  /** Balance minus open holds, at that moment. */
  available: Nano;
  /** The account's own SKUs, rates and limits (`Account.terms`). */
  terms: string | null;
  /** The key's own tag of use. */
  usageTag?: string;
  /** `Account.isSandbox` */
  isSandbox: boolean;
  /** The account's current one; null if it has none yet. */
  webhookSecret: string | null;
  /** True: the key, or the one that made the connection, is from a sign-in with the wallet that owns the account. */
  isSignedIn?: boolean;
  /** True: the account costs nothing, as a wallet opens it with a signature, and it holds no money. */
  isStranger?: boolean;
  /** What the person allowed the assistant that calls; undefined: the caller has a key. */
  scopes?: readonly string[];
  /** It calls the mounted tools that all of these lists name, by server or `server__tool`. Undefined: all tools. */
  tools?: readonly (readonly string[])[];
  /** A call of this assistant that may cost more needs a confirmation by the person; null: none does. */
  askAbove?: Nano | null;
  /** The limits of the key; null: it has none, or only the expiry of a sign-in. */
  limits: CallerLimits | null;
}

export const callerKinds = ['api_key', 'sign_in', 'connection'] as const;

export const callerKind = ({ scopes: allowed, isSignedIn }: Caller): (typeof callerKinds)[number] =>
  allowed !== undefined ? 'connection' : isSignedIn === true ? 'sign_in' : 'api_key';

export interface CallerLimits {
  /** `ApiKey.models` */
  models: readonly string[] | null;
  isBudgeted: boolean;
}

/**
 * Finds the caller of an `Authorization` header, and notes the account for the log; null without one. Throws AppError
 * `invalid_api_key` on an unusable key.
 */
export type Authenticate = (
  authorization: string | undefined,
  note?: { account?: string },
) => Promise<Caller | null>;

/** The member of `_meta` in which a message over MCP carries a key. */
export const keyMember = ({ brand }: { brand: string }): string => `${brand}/key`;

const bearer = /^Bearer +([\x21-\x7e]{1,256}) *$/i;

/** Returns the key of an `Authorization` header; null if there is none that can be read. */
export const bearerKey = (authorization: string | undefined): string | null =>
  bearer.exec(authorization ?? '')?.[1] ?? null;

interface AuthenticateOptions<Command extends keyof Store> {
  store: Pick<Store, Command>;
  clock: Clock;
  config: { wallets: Pick<WalletConfig, 'terms'> };
  /** Where the keys that are used are noted. Absent: nowhere. */
  lastUse?: { noted: NotedKeys };
}

/** The last use of a key is told to the minute, and each key is written at most once in this time. */
export const minuteMs = 60_000;
/** The most keys that are noted between two writes; the use of further keys is left out. */
const maxNoted = 10_000;

/** The minute of the last use, by key. */
export type NotedKeys = Map<string, number>;

const noteUse = (noted: NotedKeys | undefined, keyId: string, now: number): void => {
  if (noted === undefined || (noted.size >= maxNoted && !noted.has(keyId))) return;
  noted.set(keyId, Math.floor(now / minuteMs) * minuteMs);
};

type Found = NonNullable<Awaited<ReturnType<Store['findKey']>>>;

/** Looks the bearer key up by its hash on every call, so that a revocation or a change of limits counts at once. */
export const createAuthenticate = (options: AuthenticateOptions<'findKey'>): Authenticate => {
  const findCaller = createFindCaller(options);
  return async (authorization, note) => {
    if (authorization === undefined || authorization.trim() === '') return null;
    const text = bearerKey(authorization);
    return findCaller(text === null ? null : sha256(text), note);
  };
};

/** As `createAuthenticate`, by the SHA-256 of the key; null for a text that is no key. */
export const createFindCaller =
  ({ store, clock, config, lastUse }: AuthenticateOptions<'findKey'>) =>
  async (keyHash: string | null, note: { account?: string } = {}): Promise<Caller> => {
    const found = keyHash === null ? null : await store.findKey(keyHash);
    if (found === null || !isUsable(found))
      throw refused(
        'The API key is missing, unknown or no longer valid. Send "Authorization: Bearer <API_KEY>".',
      );
    const { account, key } = found;
    if (key.expiresAt !== null && key.expiresAt <= clock.now())
      throw refused(`The API key expired at ${toIso(key.expiresAt)}. Use another key.`);
    note.account = account.id;
    noteUse(lastUse?.noted, key.id, clock.now());
    return toCaller(found, [key], config);
  };

/** Returns the caller of a key, by its SHA-256; null: the key counts no more. */
export const lookUpCaller = (
  keyHash: string,
  options: AuthenticateOptions<'findKey'>,
): Promise<Caller | null> =>
  createFindCaller(options)(keyHash).catch(instead(null, hasCode('invalid_api_key')));

/** As `createAuthenticate`, of the access tokens of connections, for the path of a resource. It knows no keys. Null for a token
 * that is unknown, or of another resource. */
export const createAuthenticateConnection =
  ({ store, clock, config, lastUse }: AuthenticateOptions<'findConnection'>) =>
  async (
    { token, resource }: { token: string; resource: string },
    note: { account?: string } = {},
  ): Promise<Caller | null> => {
    const now = clock.now();
    const found = await store.findConnection({ token: sha256(token), now });
    if (found === null || found.resource !== resource || !isConnectionAlive(found, now)) return null;
    note.account = found.account.id;
    noteUse(lastUse?.noted, found.key.id, now);
    const { scopes: allowed, servers, askAbove } = found;
    const caller = toCaller(found, [found.key, found.parent], config);
    return { ...caller, scopes: allowed, tools: [...(caller.tools ?? []), servers], askAbove };
  };

/** Whether a connection can be used: it ends with the key that made it, and with the account. */
export const isConnectionAlive = (
  found: NonNullable<Awaited<ReturnType<Store['findConnection']>>>,
  now: number,
): boolean =>
  isUsable(found) &&
  found.parent.revokedAt === null &&
  [found.key, found.parent].every(({ expiresAt }) => expiresAt === null || expiresAt > now);

const isUsable = ({ key, account }: Found): boolean => key.revokedAt === null && account.status === 'active';

/** `keys`: the key, and the one that made it where that limits it, too. */
const toCaller = (
  { account, key }: Found,
  keys: readonly Found['key'][],
  { wallets }: AuthenticateOptions<never>['config'],
): Caller => {
  const isSignedIn = keys.some(({ madeBy }) => madeBy === signInMaker);
  const isBudgeted = keys.some(
    ({ budgetDay, budgetMonth, budgetTotal }) => (budgetDay ?? budgetMonth ?? budgetTotal) !== null,
  );
  const goods = keys.map(goodsOf);
  const models = goods.reduce<string[] | null>(
    (all, { models: own }) =>
      all === null || own === null ? (all ?? own) : all.filter((sku) => own.includes(sku)),
    null,
  );
  const tools = goods.flatMap(({ tools: own }) => (own === null ? [] : [own]));
  // The expiry of a sign-in takes no right from the wallet's owner.
  const isLimited = isBudgeted || models !== null || (key.expiresAt !== null && !isSignedIn);
  return {
    accountId: account.id,
    keyId: key.id,
    ...(key.usageTag === null ? {} : { usageTag: key.usageTag }),
    available: account.balance - account.held,
    terms: account.terms ?? (account.wallet === null ? null : wallets.terms),
    isSandbox: account.isSandbox,
    ...(isSignedIn ? { isSignedIn } : {}),
    ...(account.wallet !== null && account.balance <= 0n ? { isStranger: true } : {}),
    ...(tools.length === 0 ? {} : { tools }),
    limits: isLimited ? { models, isBudgeted } : null,
    webhookSecret: account.webhookSecret,
  };
};

/** Finds the key of an operator by its SHA-256, on every call. Null if it is unknown, expired or revoked. */
export const findOperator = async (
  { store, clock }: { store: Pick<Store, 'findOperatorKey'>; clock: Clock },
  keyHash: string,
): Promise<OperatorKey | null> => {
  const found = await store.findOperatorKey(keyHash);
  if (found === null || found.revokedAt !== null) return null;
  return found.expiresAt === null || found.expiresAt > clock.now() ? found : null;
};

const refused = (message: string): AppError =>
  new AppError('invalid_api_key', message, { headers: { 'www-authenticate': 'Bearer' } });

import type { IncomingMessage, ServerResponse } from 'node:http';
import { findOperator, lookUpCaller } from '../../accounts/authenticate.ts';
import { AppError, methodNotAllowed } from '../../kit/errors.ts';
import { randomBase62, sha256 } from '../../kit/ids.ts';
import { isJsonObject } from '../../kit/json.ts';
import { writeJson } from '../../kit/write-answer.ts';
import type { AddressLimiter } from '../../limits/address-limiter.ts';
import type { Services } from '../../operations/call.ts';
import type { ConsoleSession } from '../../store/store.ts';
import { readJsonBody } from '../read-json-body.ts';

export interface SessionOptions extends Pick<Services, 'store' | 'clock' | 'config' | 'cards'> {
  /** Counts the sign-ins that fail. */
  failedSignIns: AddressLimiter;
}

export type Role = ConsoleSession['role'];

const roles = ['customer', 'operator'] as const;
const lifeSeconds = 12 * 3_600;
const maxOfKey = 20;
const maxBytes = 4_096;

/** A browser takes such a name only with Secure, for this host alone. */
const cookieOf = (role: Role, { brand }: { brand: string }): string =>
  `__Host-${brand}-${role === 'customer' ? 'console' : 'operator'}`;

const toCookie = (role: Role, token: string, { config }: SessionOptions): string =>
  `${cookieOf(role, config)}=${token}; Path=/; Max-Age=${token === '' ? 0 : lifeSeconds}; HttpOnly; Secure; SameSite=Strict`;

/** Names the session in the cookie of a request; null without one. */
export const idOf = (
  request: IncomingMessage,
  role: Role,
  { config }: Pick<SessionOptions, 'config'>,
): string | null => {
  const start = `${cookieOf(role, config)}=`;
  const cookie = (request.headers.cookie ?? '').split('; ').find((pair) => pair.startsWith(start));
  return cookie === undefined ? null : sha256(cookie.slice(start.length));
};

/** Returns the SHA-256 of the key that signed in; null without a session. */
export const readSession = async (
  request: IncomingMessage,
  role: Role,
  options: SessionOptions,
): Promise<string | null> => {
  const id = idOf(request, role, options);
  if (id === null) return null;
  const session = await options.store.findConsoleSession({ id, role, now: options.clock.now() });
  return session?.keyHash ?? null;
};

/** Whether the key that signed in is still one of a customer. Asking is no use of it. */
export const isCustomer = async (
  keyHash: string,
  { store, clock, config }: Pick<SessionOptions, 'store' | 'clock' | 'config'>,
): Promise<boolean> => (await lookUpCaller(keyHash, { store, clock, config })) !== null;

const roleOf = async (keyHash: string, options: SessionOptions): Promise<Role | null> => {
  if (await isCustomer(keyHash, options)) return 'customer';
  return (await findOperator(options, keyHash)) === null ? null : 'operator';
};

const readKey = async (request: IncomingMessage): Promise<string> => {
  const { value } = await readJsonBody(request, { maxBytes, reserve: () => Promise.resolve() });
  const key = isJsonObject(value) ? value['key'] : undefined;
  if (typeof key === 'string' && key !== '') return key;
  const message = 'key: is missing. Send an API key, or the key of an operator.';
  throw new AppError('invalid_parameter', message, { param: 'key' });
};

/**
 * Serves /console/session. GET says as whom the browser is signed in, POST signs in with a key, and DELETE signs out.
 * Throws AppError.
 */
export const createServeSession = (options: SessionOptions) => {
  const { store, clock, failedSignIns } = options;

  const signIn = async (request: IncomingMessage, response: ServerResponse, clientAddress: string) => {
    const keyHash = sha256(await readKey(request));
    const role = await roleOf(keyHash, options);
    if (role === null) {
      await failedSignIns.consume(clientAddress);
      throw new AppError('invalid_api_key', 'There is no such key, or it has ended. Check the key.');
    }
    const token = randomBase62(43);
    const expiresAt = clock.now() + lifeSeconds * 1_000;
    const former = idOf(request, role, options);
    if (former !== null) await store.endConsoleSession(former);
    await store.openConsoleSession({ id: sha256(token), role, keyHash, expiresAt, maxOfKey });
    response.setHeader('set-cookie', toCookie(role, token, options));
    return { role };
  };

  const signOut = async (request: IncomingMessage, response: ServerResponse) => {
    for (const id of roles.map((role) => idOf(request, role, options)))
      if (id !== null) await store.endConsoleSession(id);
    const ended = roles.map((role) => toCookie(role, '', options));
    response.setHeader('set-cookie', ended);
    return {};
  };

  const describe = async (request: IncomingMessage) => {
    const [customer, operator] = await Promise.all([
      readSession(request, 'customer', options),
      readSession(request, 'operator', options),
    ]);
    const key = operator === null ? null : await findOperator(options, operator);
    return {
      customer: customer !== null && (await isCustomer(customer, options)),
      operator: key?.role ?? null,
      wallets: options.config.wallets.isOn,
      cards: options.cards !== null,
    };
  };

  return async (request: IncomingMessage, response: ServerResponse, clientAddress: string): Promise<void> => {
    const answers: Record<string, () => Promise<object>> = {
      GET: () => describe(request),
      POST: () => signIn(request, response, clientAddress),
      DELETE: () => signOut(request, response),
    };
    const answer = answers[request.method ?? ''];
    if (answer === undefined) throw methodNotAllowed('GET, POST, DELETE');
    writeJson(response, { status: 200, headers: { 'cache-control': 'no-store' }, body: await answer() });
  };
};

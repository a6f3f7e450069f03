import type { IncomingMessage, ServerResponse } from 'node:http';
import { createFindCaller } from '../../accounts/authenticate.ts';
import { classifyLiteral } from '../../http/check-url.ts';
import { AppError } from '../../kit/errors.ts';
import type { RequestContext } from '../rest-routes.ts';
import { createConsoleFiles, type ConsoleFilesOptions } from './console-files.ts';
import { createServeLive, type LiveOptions } from './live.ts';
import { createServeSession, readSession, type Role } from './sessions.ts';

export interface ConsoleMountOptions extends LiveOptions, Pick<ConsoleFilesOptions, 'folder' | 'x402'> {
  publicUrl(): string;
}

/** A call of a page, with the path and the caller that the interface of customers or of operators knows. */
export type ConsoleCall<Context> = Context & {
  role: 'customer' | 'operator';
  /** SHA-256 of the key that signed in. */
  keyHash: string;
  isOwnPage: true;
};

const start = '/console';
const interfaces = [
  [/^\/v1\//, 'customer'],
  [/^\/admin\/v1(?:\/|$)/, 'operator'],
] as const;
const streams: Readonly<Record<string, Role>> = { '/live': 'customer', '/admin/live': 'operator' };

/**
 * Serves the files of the console and its sessions, and returns null. A call below /console/v1 or /console/admin/v1 is
 * returned as that of the session's key: whoever serves /v1 and /admin/v1 serves it. Throws AppError.
 */
export const createConsoleMount = (options: ConsoleMountOptions) => {
  const findCaller = createFindCaller(options);
  const serveSession = createServeSession(options);
  const serveLive = createServeLive(options);
  const serveFiles = createConsoleFiles('console', options);

  return async <Context extends RequestContext>(
    request: IncomingMessage,
    response: ServerResponse,
    context: Context,
  ): Promise<ConsoleCall<Context> | null> => {
    const path = context.url.pathname.slice(start.length);
    const role = interfaces.find(([pattern]) => pattern.test(path))?.[1];
    const streamRole = streams[path];
    if (role === undefined && path !== '/session' && streamRole === undefined) {
      await serveFiles(request, response, path);
      return null;
    }
    assertOwnPage(request, { publicUrl: options.publicUrl(), brand: options.config.brand });
    if (role === undefined) {
      if (streamRole !== undefined) await serveLive(request, response, { ...context, role: streamRole });
      else await serveSession(request, response, context.clientAddress);
      return null;
    }
    // Below /console the session alone says who calls.
    delete request.headers.authorization;
    const keyHash = await readSession(request, role, options);
    if (keyHash === null) throw new AppError('invalid_api_key', 'The session has ended. Sign in again.');
    const url = new URL(context.url);
    url.pathname = path;
    const authenticate = (_header: unknown, note: RequestContext['note']) => findCaller(keyHash, note);
    return { ...context, url, role, keyHash, authenticate, isOwnPage: true };
  };
};

interface OwnPage {
  publicUrl: string;
  /** Names the header that only pages of this gateway can send. */
  brand: string;
}

/**
 * Refuses a call that no page of this gateway made, because the browser sends a session's cookie by itself. A read counts,
 * too: a search spends money. Also refuses a page over plain http. Throws AppError `permission_denied`.
 */
const assertOwnPage = (request: IncomingMessage, { publicUrl, brand }: OwnPage): void => {
  const { method, headers } = request;
  const site = headers['sec-fetch-site'];
  const isRead = method === 'GET' || method === 'HEAD';
  // A redirect by another page of this gateway, such as that of consent, is of the same origin.
  const isNavigation = headers['sec-fetch-mode'] === 'navigate';
  const isOwn = isRead
    ? !isNavigation &&
      (site === 'same-origin' || (site === undefined && headers[`x-${brand}-console`] !== undefined))
    : isOwnOrigin(headers, publicUrl);
  if (!isOwn)
    throw new AppError(
      'permission_denied',
      `The console answers its own pages alone. Open ${publicUrl}/console. Programs send an API key to /v1.`,
    );
};

const isOwnOrigin = ({ origin, host }: IncomingMessage['headers'], publicUrl: string): boolean => {
  const from = URL.parse(origin ?? '');
  if (from === null) return false;
  const isPublic = from.origin === new URL(publicUrl).origin;
  const isLoopback = classifyLiteral(from.hostname) === 'loopback';
  if ((isPublic || from.host === host) && from.protocol === 'http:' && !isLoopback)
    throw new AppError(
      'permission_denied',
      'Nobody signs in over plain http, where others could read the key. Open the console over https, or on the machine ' +
        'of the gateway as http://localhost.',
    );
  return isPublic || (isLoopback && from.host === host);
};

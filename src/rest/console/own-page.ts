import type { IncomingMessage } from 'node:http';
import { classifyLiteral } from '../../http/check-url.ts';
import { AppError } from '../../kit/errors.ts';

interface OwnPage {
  publicUrl: string;
  /** Names the header that only pages of this gateway can send. */
  brand: string;
}

/**
 * Refuses a call that no page of this gateway made, because the browser sends a session's cookie by itself. A read counts,
 * too: a search spends money. Also refuses a page over plain http. Throws AppError `permission_denied`.
 */
export const assertOwnPage = (request: IncomingMessage, { publicUrl, brand }: OwnPage): void => {
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
  const isLoopback = classifyLiteral(from.hostname.replace(/^\[|\]$/g, '')) === 'loopback';
  if ((isPublic || from.host === host) && from.protocol === 'http:' && !isLoopback)
    throw new AppError(
      'permission_denied',
      'Nobody signs in over plain http, where others could read the key. Open the console over https, or on the machine ' +
        'of the gateway as http://localhost.',
    );
  return isPublic || (isLoopback && from.host === host);
};

import type { IncomingMessage, ServerResponse } from 'node:http';
import { localhostAllowedOrigins } from '@modelcontextprotocol/server';
import { originValidation } from '@modelcontextprotocol/node';

/** Returns whether the request may go on. When false, it has been answered. */
export type OriginGuard = (request: IncomingMessage, response: ServerResponse) => boolean;

export interface OriginGuardOptions {
  publicUrl: () => string;
  /** Host names of other web pages whose scripts may call. */
  allowedOrigins: readonly string[];
}

/**
 * Refuses scripts of foreign web pages (403), as the protocol demands against DNS rebinding: a rebound page still names
 * its own host in `Origin`. Our own pages, pages on this machine (inspectors) and the configured ones may call, and get
 * the CORS headers that a browser needs. Requests without `Origin` come from programs and pass. `Host` is not checked,
 * because a proxy may change it.
 */
export const createOriginGuard = ({ publicUrl, allowedOrigins }: OriginGuardOptions): OriginGuard => {
  let isAllowed: OriginGuard | null = null;
  return (request, response) => {
    const { origin } = request.headers;
    if (origin === undefined) return true;
    // The library treats an empty value as none, and reads only the host.
    if (origin === '' || origin.includes('@')) request.headers.origin = 'null';
    isAllowed ??= originValidation([
      ...localhostAllowedOrigins(),
      new URL(publicUrl()).hostname,
      ...allowedOrigins,
    ]);
    if (!isAllowed(request, response)) return false;
    response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-expose-headers', 'x-request-id, retry-after, www-authenticate');
    response.setHeader('vary', 'origin');
    if (request.method !== 'OPTIONS') return true;
    answerPreflight(response);
    return false;
  };
};

const answerPreflight = (response: ServerResponse): void => {
  response.writeHead(204, {
    'access-control-allow-methods': 'POST',
    // The wildcard covers every header but Authorization.
    'access-control-allow-headers': 'authorization, *',
    'access-control-max-age': '7200',
  });
  response.end();
};

import type { IncomingMessage } from 'node:http';

/**
 * The client's address behind `trustedHops` proxies of ours: each appends the address it was called from to
 * X-Forwarded-For, so only the last `trustedHops` entries are true; what stands before them anybody can write.
 */
export const clientAddress = (request: IncomingMessage, trustedHops: number): string => {
  const socketAddress = request.socket.remoteAddress ?? 'unknown';
  if (trustedHops === 0) return socketAddress;
  const header = request.headers['x-forwarded-for'];
  const forwarded = (Array.isArray(header) ? header.join(',') : (header ?? ''))
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const chain = [...forwarded, socketAddress];
  return chain[Math.max(0, chain.length - 1 - trustedHops)] ?? socketAddress;
};

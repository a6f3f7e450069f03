import type { IncomingMessage } from 'node:http';

/** Removes the port that some proxies write after the address: `1.2.3.4:5`, `[2001:db8::1]:5`. */
const withoutPort = (text: string): string =>
  /^(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/.exec(text)?.[1] ??
  /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ??
  text;

/**
 * Returns the client's address behind `trustedHops` proxies of the operator. Each proxy appends the address of its
 * caller to X-Forwarded-For, so only the last `trustedHops` entries are reliable; a client can forge the others.
 */
export const clientAddress = (request: IncomingMessage, trustedHops: number): string => {
  const socketAddress = request.socket.remoteAddress ?? 'unknown';
  if (trustedHops === 0) return socketAddress;
  const header = request.headers['x-forwarded-for'];
  const forwarded = (Array.isArray(header) ? header.join(',') : (header ?? ''))
    .split(',')
    .map((part) => withoutPort(part.trim()))
    .filter((part) => part !== '');
  const chain = [...forwarded, socketAddress];
  return chain[Math.max(0, chain.length - 1 - trustedHops)] ?? socketAddress;
};

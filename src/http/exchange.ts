import type { Socket } from 'node:net';
import { Client, type buildConnector, type Dispatcher } from 'undici';
import type { CheckedUrl } from './check-url.ts';
import { connectChecked } from './connect-checked.ts';
import type { Deadline } from './deadline.ts';
import { OutboundError } from './outbound.ts';
import type { ResolveHost } from './resolve-host.ts';

export interface ExchangeOptions {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body: string | null;
  deadline: Deadline;
  resolve: ResolveHost;
  ca?: string;
}

/** An answer whose body comes over a connection of its own. */
export interface Exchange {
  answer: Dispatcher.ResponseData;
  /** Ends the connection, whatever of the body has not come. */
  end(): void;
}

/**
 * One request over a new connection: one that is used again would skip the check of the address. Follows no redirect.
 * Throws OutboundError, or the deadline's reason.
 */
export const exchange = async (target: CheckedUrl, options: ExchangeOptions): Promise<Exchange> => {
  const { method, headers, body, deadline, resolve, ca } = options;
  const socket = await connectChecked(target, { resolve, ca, signal: deadline.signal });
  const client = new Client(target.url.origin, {
    connect: connectOnce(socket),
    allowH2: false,
    // The deadline is over all of it.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const end = (): void => {
    void client.destroy();
  };
  try {
    const answer = await client.request({
      method,
      path: `${target.url.pathname}${target.url.search}`,
      headers: { ...headers, 'accept-encoding': 'identity' },
      body,
      reset: true,
      signal: deadline.signal,
    });
    return { answer, end };
  } catch (error) {
    end();
    deadline.signal.throwIfAborted();
    throw toExchangeFailure(error);
  }
};

/** Hands the checked connection over, and never makes another one. */
const connectOnce = (socket: Socket): buildConnector.connector => {
  let isUsed = false;
  return (_options, callback) => {
    const isGone = isUsed || socket.destroyed;
    isUsed = true;
    // undici misses what it is told before its own call has returned.
    queueMicrotask(() => {
      if (isGone) callback(new Error('the connection was closed before the answer'), null);
      else callback(null, socket);
    });
  };
};

/** What became of a connection that stood. */
export const toExchangeFailure = (cause: unknown): OutboundError =>
  cause instanceof OutboundError
    ? cause
    : new OutboundError('broken_off', 'The connection ended before the answer did.', { cause });

import { once } from 'node:events';
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { callbackify } from 'node:util';
import type { buildConnector } from 'undici';
import { type CheckedUrl, classifyAddress, isLoopbackName, notPublic } from './check-url.ts';
import { OutboundError, toConnectFailure } from './outbound.ts';
import { Resolver } from 'node:dns/promises';

export interface ConnectOptions {
  resolve: ResolveHost;
  /** Certificate authorities (PEM) instead of the well-known ones. */
  ca?: string | undefined;
  signal: AbortSignal;
}

/** So many addresses of a host are tried, the first ones. */
const maxTried = 8;

/**
 * Returns a connector that opens a new connection to the host of a checked URL. Its name is looked up once; every address
 * must be allowed, and only these are connected to, whatever the name resolves to a moment later. Fails with OutboundError,
 * or with the signal's reason.
 */
export const checkedConnector =
  (target: CheckedUrl, options: ConnectOptions): buildConnector.connector =>
  (_options, callback) =>
    callbackify(() => connectChecked(target, options))((error, socket) =>
      error === null ? callback(null, socket) : callback(error, null),
    );

const connectChecked = async (target: CheckedUrl, options: ConnectOptions): Promise<Socket> => {
  const { resolve, signal, ca } = options;
  const { host, port, url } = target;
  const addresses = isIP(host) === 0 ? await resolve(host, signal) : [host];
  if (addresses.length === 0 || !addresses.every((address) => target.allows(classifyAddress(address))))
    throw notPublic();
  signal.throwIfAborted();
  const to = { host, port, lookup: pinnedTo(addresses), autoSelectFamily: true, noDelay: true };
  if (url.protocol === 'http:') return untilConnected(connectTcp(to), 'connect', signal);
  const socket = connectTls({
    ...to,
    ca,
    // An IP address is no server name (RFC 6066).
    servername: isIP(host) === 0 ? host : '',
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
  });
  return untilConnected(socket, 'secureConnect', signal);
};

/** Node looks nothing up where the host is an IP address itself. */
const pinnedTo = (addresses: readonly string[]): LookupFunction => {
  const pinned = addresses.slice(0, maxTried).map((address) => ({ address, family: isIP(address) }));
  return (_host, { all }, callback) => {
    const [first] = pinned;
    if (all === true) callback(null, pinned);
    else callback(null, first?.address ?? '', first?.family);
  };
};

const untilConnected = async (
  socket: Socket,
  event: 'connect' | 'secureConnect',
  signal: AbortSignal,
): Promise<Socket> => {
  // The next owner of the socket sees later failures, or nobody does.
  socket.on('error', () => undefined);
  try {
    await once(socket, event, { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw signal.aborted ? signal.reason : toConnectFailure(error);
  }
};

/** The IP addresses of a host name, at least one. Throws OutboundError `unresolved`, or the signal's reason. */
export type ResolveHost = (host: string, signal: AbortSignal) => Promise<string[]>;

/** A name server that does not answer is asked this often, waiting so long (milliseconds) the first time. */
const tries = 2;
const timeout = 2_500;

/**
 * Asks the DNS without the thread pool, whose few threads a stranger's slow name server would hold up. The hosts file is
 * not read. `servers` (addresses with ports) stand in for those that the system names.
 */
export const createResolveHost =
  ({ servers }: { servers?: readonly string[] } = {}): ResolveHost =>
  async (host, signal) => {
    if (isLoopbackName(host)) return ['127.0.0.1', '::1'];
    signal.throwIfAborted();
    const resolver = new Resolver({ timeout, tries });
    if (servers !== undefined) resolver.setServers(servers);
    const cancel = (): void => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
      signal.throwIfAborted();
      const addresses = found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
      if (addresses.length > 0) return addresses;
      throw new OutboundError('unresolved', 'The host of the URL has no address.', {
        cause: found.find((each) => each.status === 'rejected')?.reason,
      });
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  };

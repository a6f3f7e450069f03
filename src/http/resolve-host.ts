import { Resolver } from 'node:dns/promises';
import { isLoopbackName } from './check-url.ts';
import { OutboundError } from './outbound.ts';

/** The IP addresses of a host name, at least one. Throws OutboundError `unresolved`, or the signal's reason. */
export type ResolveHost = (host: string, signal: AbortSignal) => Promise<string[]>;

/** A name server that does not answer is asked this often, waiting so long (milliseconds) the first time. */
const tries = 2;
const timeout = 2_500;

/**
 * Asks the DNS without the thread pool: its few threads also serve the files and look-ups of everybody else, and a
 * stranger's slow name server would hold them up. The hosts file of this machine is not read. `servers` (addresses with
 * ports) stand in for those that the system names.
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

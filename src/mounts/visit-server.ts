import packageJson from '../../package.json' with { type: 'json' };
import { createOutbound } from '../http/create-outbound.ts';
import { silentLog } from '../kit/log.ts';
import { brandTitle } from '../kit/text.ts';
import type { MountConfig } from './mount-settings.ts';
import type { MountedServer } from './mounted-server.ts';

interface VisitOptions {
  config: { brand: string; allowsLoopbackUrls: boolean };
  /** Ends the attempt to connect. */
  signal: AbortSignal;
}

/** Whoever visits ends its processes itself, and those of a gateway are noted in a folder that a visit does not touch. */
const unnoted = { note: async () => undefined, forget: async () => undefined };

/**
 * Connects to a mounted server for one piece of work, beside the connection that a running gateway has, and ends it
 * again. Rejects if the server cannot be reached.
 */
export const visitServer = async <T>(
  mount: MountConfig,
  { config: { brand, allowsLoopbackUrls }, signal }: VisitOptions,
  work: (server: MountedServer) => Promise<T>,
): Promise<T> => {
  const { version } = packageJson;
  const outbound = createOutbound({
    allowsLoopback: allowsLoopbackUrls,
    userAgent: `${brandTitle({ brand })}/${version}`,
  });
  try {
    // Loaded only where a server is visited.
    const { connectServer } = await import('./connect-server.ts');
    const server = await connectServer(mount, {
      log: silentLog,
      outbound,
      groups: unnoted,
      clientInfo: { name: brand, version },
      onToolsChanged: () => undefined,
      signal,
    });
    try {
      return await work(server);
    } finally {
      await server.close();
    }
  } finally {
    await outbound.close();
  }
};

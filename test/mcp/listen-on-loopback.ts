import { once } from 'node:events';
import type { Server } from 'node:http';

export interface Listening {
  /** Without a path. */
  url: string;
  close(): Promise<void>;
}

/**
 * Listens on a free port of loopback. As with the gateway, idle connections stay open for longer than any test takes: on a
 * busy machine a client may use one at the moment at which the server would close it.
 */
export const listenOnLoopback = async (server: Server): Promise<Listening> => {
  server.keepAliveTimeout = 65_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};

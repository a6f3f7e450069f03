import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listeningPort } from './listening-port.ts';

/** A listener between a client and `port`. What it swallows stays connected and is never answered. */
export interface BlackHole {
  readonly url: string;
  /** From now on the connections that are open, but no later ones, are swallowed. */
  swallowOpenConnections(): void;
  close(): Promise<void>;
}

/** With `port` null every connection is swallowed. */
export const createBlackHole = async (port: number | null): Promise<BlackHole> => {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    keep(client);
    if (port === null) {
      client.resume();
      return;
    }
    const upstream = connect(port, '127.0.0.1');
    keep(upstream);
    client.pipe(upstream).pipe(client);
  }).listen(0, '127.0.0.1');
  const ownPort = await listeningPort(server);
  return {
    url: `redis://127.0.0.1:${ownPort}`,
    swallowOpenConnections() {
      for (const socket of sockets) socket.unpipe().resume();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};

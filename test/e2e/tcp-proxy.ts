import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listeningPort } from '../limits/listening-port.ts';

/** A listener in front of a server, with the outages of a network at hand. */
export interface TcpProxy {
  readonly port: number;
  /** Nothing comes through any more, in either direction; connections stay, and new ones are taken. */
  freeze(): void;
  /** What was held up since comes through. */
  thaw(): void;
  /** Ends all connections and refuses new ones. */
  refuse(): Promise<void>;
  /** Takes connections again. */
  accept(): Promise<void>;
  close(): Promise<void>;
}

export const startTcpProxy = async (target: { host: string; port: number }): Promise<TcpProxy> => {
  const pairs = new Set<[Socket, Socket]>();
  let isFrozen = false;
  const server = createServer((client) => {
    const upstream = connect(target);
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    for (const socket of pair)
      socket
        .on('error', () => undefined)
        .once('close', () => {
          pairs.delete(pair);
          for (const other of pair) other.destroy();
        });
    if (!isFrozen) join(pair);
  });
  const join = ([client, upstream]: [Socket, Socket]): void => void client.pipe(upstream).pipe(client);
  const listen = async (port: number): Promise<number> => listeningPort(server.listen(port, '127.0.0.1'));
  const refuse = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    await closed;
  };
  const port = await listen(0);
  return {
    port,
    freeze: () => {
      isFrozen = true;
      for (const pair of pairs) for (const socket of pair) socket.unpipe().pause();
    },
    thaw: () => {
      isFrozen = false;
      for (const pair of pairs) join(pair);
    },
    refuse,
    accept: async () => void (await listen(port)),
    close: refuse,
  };
};

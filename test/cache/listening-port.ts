import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** The port of a TCP server that was told to listen. */
export const listeningPort = async (server: Server): Promise<number> => {
  if (!server.listening) await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return address.port;
};

/** A port of 127.0.0.1 that nobody listens on. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  const port = await listeningPort(server);
  server.close();
  await once(server, 'close');
  return port;
};

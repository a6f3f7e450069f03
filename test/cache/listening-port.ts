import { once } from 'node:events';
import type { Server } from 'node:net';

/** The port of a TCP server that was told to listen. */
export const listeningPort = async (server: Server): Promise<number> => {
  if (!server.listening) await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return address.port;
};

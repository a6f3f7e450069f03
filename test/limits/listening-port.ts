import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** The port of a TCP server that was told to listen. */
export const listeningPort = async (server: Server): Promise<number> => {
  if (!server.listening) await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return address.port;
};

/** A port of 127.0.0.1 that nobody listens on, and that no system hands out: what is started later still finds it free. */
export const freePort = async (): Promise<number> => {
  const port = randomInt(20_000, 32_000);
  try {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return port;
  } catch {
    return freePort();
  }
};

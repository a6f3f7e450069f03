import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { createOutbound, type OutboundOptions } from '../../src/http/create-outbound.ts';
import type { Outbound, OutboundFailure } from '../../src/http/outbound.ts';
import { listeningPort } from '../limits/listening-port.ts';

const { signal } = new AbortController();

/** Of a call that nothing is to be in the way of. */
export const limits = { maxBytes: 1_000_000, totalMs: 20_000, signal };

/** An outbound for development that goes with the test. */
export const openOutbound = (options: Partial<OutboundOptions> = {}): Outbound => {
  const outbound = createOutbound({ allowsLoopback: true, userAgent: 'Causeway', ...options });
  onTestFinished(() => outbound.close());
  return outbound;
};

export const failing = (failure: OutboundFailure): unknown =>
  expect.objectContaining({ name: 'OutboundError', failure });

/** The port of a free place on 127.0.0.1. */
export const listen = (server: Server): Promise<number> => listeningPort(server.listen(0, '127.0.0.1'));

/** An HTTP server that goes with the test; answers its address without a path. */
export const startHttp = async (
  serve: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> => {
  const server = createHttpServer(serve);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${await listen(server)}`;
};

/** A server that does with a connection what the test says, and every connection that was made to it. */
export const startTcp = async (
  serve: (socket: Socket) => void,
): Promise<{ port: number; sockets: Socket[] }> => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    // A caller that hangs up is what many tests are about.
    socket.on('error', () => undefined);
    serve(socket);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: await listen(server), sockets };
};

/** A server that answers every request with these bytes as they are, and then does as the test says. */
export const startRaw = async (
  answer: string,
  andThen: (socket: Socket) => void = () => undefined,
): Promise<string> => {
  const { port } = await startTcp((socket) => {
    socket.once('data', () => {
      socket.write(answer);
      andThen(socket);
    });
  });
  return `http://127.0.0.1:${port}/`;
};

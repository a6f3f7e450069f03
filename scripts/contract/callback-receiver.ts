import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pngBase64 } from './picture.ts';

/** One webhook as received. */
export interface Delivery {
  path: string;
  method: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Unix seconds. */
  receivedAt: number;
}

/** A customer's server: receives webhooks and serves pictures. */
export interface CallbackReceiver {
  /** Returns an address for one check. The first `failures` deliveries to it get 500. */
  address(name: string, options?: { failures?: number }): string;
  /** Every delivery to this address so far. */
  deliveries(name: string): readonly Delivery[];
  /** Waits for the delivery with this number, from 1; null if it does not come in time. */
  delivery(name: string, number: number, timeoutMs: number): Promise<Delivery | null>;
  /** The address of a picture, for one check. */
  pictureAddress(name: string): string;
  /** How often that picture was fetched. */
  pictureFetches(name: string): number;
  close(): Promise<void>;
}

export interface CallbackReceiverOptions {
  host: string;
  port: number;
  /** The address under which the server under test reaches this one; null for the listening address. */
  publicUrl: string | null;
}

const largestBody = 1024 * 1024;
const maxDeliveries = 100;

export const startCallbackReceiver = async ({
  host,
  port,
  publicUrl,
}: CallbackReceiverOptions): Promise<CallbackReceiver> => {
  const received = new Map<string, Delivery[]>();
  const failures = new Map<string, number>();
  const fetches = new Map<string, number>();

  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request);
    const path = request.url ?? '/';
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (request.method === 'GET' && fetches.has(name)) {
      fetches.set(name, (fetches.get(name) ?? 0) + 1);
      response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from(pngBase64, 'base64'));
      return;
    }
    const before = received.get(name) ?? [];
    if (!failures.has(name) || before.length >= maxDeliveries) {
      response.writeHead(404).end();
      return;
    }
    const receivedAt = Math.floor(Date.now() / 1000);
    received.set(name, [
      ...before,
      { path, method: request.method ?? '', headers: request.headers, body, receivedAt },
    ]);
    response.writeHead(before.length < (failures.get(name) ?? 0) ? 500 : 204).end();
  };

  // A delivery that cannot be read is not acknowledged. The sender sees a broken connection.
  const server = createServer((request, response) => {
    receive(request, response).catch(() => response.destroy());
  });
  server.listen(port, host);
  await once(server, 'listening');
  const base = publicUrl?.replace(/\/+$/, '') ?? `http://${host}:${(server.address() as AddressInfo).port}`;

  const deliveries = (name: string): readonly Delivery[] => received.get(name) ?? [];
  return {
    deliveries,
    address: (name, options = {}) => {
      failures.set(name, options.failures ?? 0);
      return `${base}/${name}`;
    },
    pictureAddress: (name) => {
      fetches.set(name, fetches.get(name) ?? 0);
      return `${base}/${name}`;
    },
    pictureFetches: (name) => fetches.get(name) ?? 0,
    delivery: async (name, number, timeoutMs) => {
      const deadline = performance.now() + timeoutMs;
      while (performance.now() < deadline) {
        const delivery = deliveries(name)[number - 1];
        if (delivery !== undefined) return delivery;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      return null;
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};

const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > largestBody) throw new Error('the webhook is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
};

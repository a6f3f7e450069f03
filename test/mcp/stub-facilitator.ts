import { createServer } from 'node:http';
import { once } from 'node:events';
import { json } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';

export interface StubFacilitator {
  url: string;
  /** How often `/settle` was asked. */
  settlements(): number;
  close(): Promise<void>;
}

export const stubNetwork = 'eip155:84532';
export const stubTransaction = `0x${'ab'.repeat(32)}`;
export const stubPayer = '0x00000000000000000000000000000000000000b0';

/** A facilitator on loopback that speaks the x402 v2 wire and finds every Base Sepolia payment good. */
export const startStubFacilitator = async (): Promise<StubFacilitator> => {
  let settlements = 0;
  const answers: Record<string, () => object> = {
    '/supported': () => ({ kinds: [{ x402Version: 2, scheme: 'exact', network: stubNetwork }] }),
    '/verify': () => ({ isValid: true, payer: stubPayer }),
    '/settle': () => {
      settlements += 1;
      return { success: true, transaction: stubTransaction, network: stubNetwork, payer: stubPayer };
    },
  };
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? ''];
    const reply = (): void => {
      response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer?.() ?? {}));
    };
    if (request.method === 'GET') reply();
    else json(request).then(reply, () => response.writeHead(400).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    settlements: () => settlements,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};

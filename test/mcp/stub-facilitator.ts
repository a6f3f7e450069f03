import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { listenOnLoopback, type Listening } from './listen-on-loopback.ts';

export interface StubFacilitator extends Listening {
  /** How often `/settle` was asked. */
  settlements(): number;
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
  return { ...(await listenOnLoopback(server)), settlements: () => settlements };
};

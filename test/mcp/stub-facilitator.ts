import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { listenOnLoopback, type Listening } from './listen-on-loopback.ts';

export interface StubFacilitator extends Listening {
  /** How often `/settle` was asked. */
  settlements(): number;
}

export const stubNetwork = 'eip155:84532';
/** The transaction of one settlement, by its number from 1. */
export const stubTransaction = (settlement: number): string =>
  `0x${settlement.toString(16).padStart(64, '0')}`;
export const stubPayer = '0x00000000000000000000000000000000000000b0';

/** A facilitator on loopback that speaks the x402 v2 wire and finds every payment on `network` good. */
export const startStubFacilitator = async (network = stubNetwork): Promise<StubFacilitator> => {
  let settlements = 0;
  const answers: Record<string, () => object> = {
    '/supported': () => ({ kinds: [{ x402Version: 2, scheme: 'exact', network }] }),
    '/verify': () => ({ isValid: true, payer: stubPayer }),
    '/settle': () => {
      settlements += 1;
      return { success: true, transaction: stubTransaction(settlements), network, payer: stubPayer };
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

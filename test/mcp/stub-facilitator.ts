import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { toEventSelector, toHex } from 'viem';
import { listenOnLoopback, type Listening } from './listen-on-loopback.ts';

export interface StubFacilitator extends Listening {
  /** The settings of a gateway that it settles for. */
  environment: Record<string, string>;
  /** How often `/settle` was asked. */
  settlements(): number;
}

export const stubNetwork = 'eip155:84532';
/** The transaction of one settlement, by its number from 1. */
export const stubTransaction = (settlement: number): string =>
  `0x${settlement.toString(16).padStart(64, '0')}`;
export const stubPayer = '0x00000000000000000000000000000000000000b0';

const topicOf = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;

/** The receipt of a transaction that carries out a signed transfer (ERC-3009), as a node tells it. */
const receiptOf = (
  transactionHash: string,
  { paymentPayload, paymentRequirements: { asset: address } }: StubOrder,
) => {
  const { from, to, value, nonce } = paymentPayload.payload.authorization;
  const block = { transactionHash, blockNumber: '0x1', blockHash: stubTransaction(1) };
  const log = (event: string, topics: string[], data: string) => ({
    ...block,
    address,
    topics: [toEventSelector(event), ...topics],
    data,
  });
  return {
    ...block,
    status: '0x1',
    logs: [
      log('AuthorizationUsed(address,bytes32)', [topicOf(from), nonce], '0x'),
      log(
        'Transfer(address,address,uint256)',
        [topicOf(from), topicOf(to)],
        toHex(BigInt(value), { size: 32 }),
      ),
    ],
  };
};

interface StubOrder {
  paymentPayload: { payload: { authorization: Record<'from' | 'to' | 'value' | 'nonce', string> } };
  paymentRequirements: { asset: string };
}

/**
 * A facilitator on loopback that speaks the x402 v2 wire and finds every payment on `network` good, and a node (`/node`)
 * that knows nothing but the receipts of its settlements.
 */
export const startStubFacilitator = async (network = stubNetwork): Promise<StubFacilitator> => {
  let settlements = 0;
  const receipts = new Map<string, object>();
  const answers: Record<string, (body: never) => object> = {
    '/node': ({ id, method, params: [hash] }: { id: number; method: string; params: string[] }) =>
      method === 'eth_getTransactionReceipt'
        ? { jsonrpc: '2.0', id, result: receipts.get(hash ?? '') ?? null }
        : {},
    '/supported': () => ({ kinds: [{ x402Version: 2, scheme: 'exact', network }] }),
    '/verify': () => ({ isValid: true, payer: stubPayer }),
    '/settle': (order: StubOrder) => {
      settlements += 1;
      const transaction = stubTransaction(settlements);
      receipts.set(transaction, receiptOf(transaction, order));
      return { success: true, transaction, network, payer: stubPayer };
    },
  };
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? ''];
    const reply = (body?: unknown): void => {
      response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer?.(body as never) ?? {}));
    };
    if (request.method === 'GET') reply();
    else json(request).then(reply, () => response.writeHead(400).end());
  });
  const listening = await listenOnLoopback(server);
  const environment = { X402_FACILITATOR_URL: listening.url, X402_EVM_RPC_URL: `${listening.url}/node` };
  return { ...listening, environment, settlements: () => settlements };
};

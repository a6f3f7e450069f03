import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { decodeBase64Json, encodeBase64Json } from '../../src/payments/chains/core/wire.ts';
import { readExchange, type Exchange } from '../payments/fixtures/read-exchange.ts';
import { v1Receipt, v1Terms } from '../payments/fixtures/v1-terms.ts';
import { renewBlockhash } from '../payments/support/renew-blockhash.ts';
import { sendExactly, type ExactAnswer, type ExactRequest } from './send-exactly.ts';
import { searchPrice, startPaidSearch, type PaidSearch } from './start-paid-search.ts';
import { startTestGateway } from './start-test-gateway.ts';

let search: PaidSearch;

beforeAll(async () => {
  search = await startPaidSearch();
});

afterAll(() => search.stop());

const proofHeader = 'X-PAYMENT';
const evmProof = z.looseObject({ payload: z.looseObject({ signature: z.string() }) });
const solanaProof = z.looseObject({ payload: z.looseObject({ transaction: z.string() }) });

const send = (request: ExactRequest): Promise<ExactAnswer> => sendExactly(search.gateway.url, request);

const proofOf = ({ request }: Exchange): unknown =>
  decodeBase64Json(request.headers.find(([name]) => name === proofHeader)?.[1] ?? '');

const withProof = ({ request }: Exchange, proof: unknown): ExactRequest => ({
  ...request,
  headers: request.headers.map(([name, value]) => [
    name,
    name === proofHeader ? encodeBase64Json(proof) : value,
  ]),
});

/** Another signature of the same length that is nobody's. */
const spoil = (proof: unknown): unknown => {
  const { payload, ...rest } = evmProof.parse(proof);
  const { signature } = payload;
  const changed = signature.replace(/^0x(.)/, (_, digit: string) => `0x${digit === '1' ? '2' : '1'}`);
  return { ...rest, payload: { ...payload, signature: changed } };
};

const receiptOf = ({ headers }: ExactAnswer) =>
  v1Receipt.parse(decodeBase64Json(headers['x-payment-response'] ?? ''));

const typesOf = (value: object): Record<string, string> =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [name, typeof member]));

describe('a 402 for v1 clients', () => {
  it('has in its body every field that they demand, in the form that they demand', async () => {
    const answer = await send({ path: '/v1/search?query=travel&limit=5' });
    expect(answer.status).toBe(402);
    const { accepts } = v1Terms.parse(JSON.parse(answer.body));
    expect(accepts.map(({ network }) => network)).toEqual(['base-sepolia', 'solana-devnet']);
  });

  it('still has what they took when they were recorded, of the same types', async () => {
    const { terms, request } = await readExchange('x402-fetch on Base');
    const answer = await send({ path: request.path });
    const present = v1Terms.parse(JSON.parse(answer.body)).accepts;
    expect(present.map(typesOf)).toMatchObject(terms.accepts.map(typesOf));
  });

  it('leaves out a network that they have no name for, as one would make them refuse all', async () => {
    const { base } = search.chains;
    const sepolia = 'eip155:11155111';
    // Terms of EVM networks are offered before their facilitator was ever reached.
    const gateway = await startTestGateway({
      environment: {
        X402_NETWORKS: `${base.network},${sepolia}`,
        X402_EVM_PAY_TO: base.seller.address,
        X402_FACILITATOR_URL: 'http://127.0.0.1:1',
      },
      yaml: JSON.stringify({ x402: { networks: { [base.network]: { rpc_url: base.rpcUrl } } } }),
    });
    try {
      const answer = await sendExactly(gateway.url, { path: '/v1/search' });
      const offered = z
        .looseObject({ accepts: z.array(z.looseObject({ network: z.string() })) })
        .parse(decodeBase64Json(answer.headers['payment-required'] ?? ''));
      expect(offered.accepts.map(({ network }) => network)).toEqual([base.network, sepolia]);
      const { accepts } = v1Terms.parse(JSON.parse(answer.body));
      expect(accepts.map(({ network }) => network)).toEqual(['base-sepolia']);
    } finally {
      await gateway.stop();
    }
  });
});

describe.each(['x402-fetch on Base', 'x402-axios on Base'] as const)('the recorded bytes of %s', (name) => {
  it('are refused with terms that the client can read when the signature is spoiled, and charge nothing', async () => {
    const exchange = await readExchange(name);
    const before = await search.earned();
    const refused = await send(withProof(exchange, spoil(proofOf(exchange))));
    expect(refused.status).toBe(402);
    const { error } = v1Terms.parse(JSON.parse(refused.body));
    expect(error).toBe('invalid_exact_evm_signature');
    expect(refused.headers['x-payment-response']).toBeUndefined();
    expect(await search.earned()).toBe(before);
  });

  it('are served with a v1 receipt and charged once, however often they come', async () => {
    const { request, receipt } = await readExchange(name);
    const before = await search.earned();
    const first = await send(request);
    expect(first.status).toBe(200);
    expect(receiptOf(first)).toMatchObject({
      ...receipt,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    });
    expect(receiptOf(first).network).toBe('base-sepolia');
    expect(JSON.parse(first.body)).toMatchObject({ count: expect.any(Number), results: expect.any(Array) });
    const second = await send(request);
    expect([second.status, second.body]).toEqual([200, first.body]);
    expect(second.headers['x-payment-response']).toBe(first.headers['x-payment-response']);
    expect((await search.earned()) - before).toBe(searchPrice);
  });

  it('open no other search, nor theirs with another signature, once they are used', async () => {
    const exchange = await readExchange(name);
    const other = await send({ ...exchange.request, path: '/v1/search?query=food&limit=5' });
    const forged = await send(withProof(exchange, spoil(proofOf(exchange))));
    expect([other.status, forged.status]).toEqual([409, 409]);
  });
});

describe('the recorded proof of x402-fetch on Solana', () => {
  const renewed = async (): Promise<{ exchange: Exchange; request: ExactRequest }> => {
    const exchange = await readExchange('x402-fetch on Solana');
    const { payload, ...rest } = solanaProof.parse(proofOf(exchange));
    const transaction = await renewBlockhash(payload.transaction, search.chains.solana);
    return { exchange, request: withProof(exchange, { ...rest, payload: { transaction } }) };
  };

  it('is refused with readable terms as it is, for its blockhash is gone', async () => {
    const { request } = await readExchange('x402-fetch on Solana');
    const refused = await send(request);
    expect(refused.status).toBe(402);
    v1Terms.parse(JSON.parse(refused.body));
  });

  it('with a blockhash of today is served with a v1 receipt and charged once', async () => {
    const before = await search.earned();
    const { exchange, request } = await renewed();
    const first = await send(request);
    expect(first.status).toBe(200);
    expect(receiptOf(first)).toMatchObject({ ...exchange.receipt, transaction: expect.any(String) });
    const second = await send(request);
    expect([second.status, second.body]).toEqual([200, first.body]);
    expect((await search.earned()) - before).toBe(searchPrice);
  });
});

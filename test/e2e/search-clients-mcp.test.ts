import { x402Client } from '@x402/core/client';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { decodeBase64Json } from '../../src/payments/chains/core/wire.ts';
import { clientKinds, type TestClient, type ToolResult } from '../mcp/clients.ts';
import { readExchange } from '../payments/fixtures/read-exchange.ts';
import { sendExactly } from './send-exactly.ts';
import { searchPrice, startPaidSearch, type PaidSearch } from './start-paid-search.ts';

let search: PaidSearch;

beforeAll(async () => {
  search = await startPaidSearch();
});

afterAll(() => search.stop());

const tool = 'search_leads';
/** In the smallest unit of USDC: what the agents library pays without being told more. */
const defaultCap = 100_000n;

const terms = z.looseObject({
  x402Version: z.literal(2),
  resource: z.looseObject({ url: z.url(), description: z.string(), mimeType: z.string() }),
  accepts: z
    .array(
      z.looseObject({
        scheme: z.string(),
        network: z.templateLiteral([z.string(), ':', z.string()]),
        asset: z.string(),
        amount: z.string(),
        payTo: z.string(),
        maxTimeoutSeconds: z.int(),
        extra: z.record(z.string(), z.unknown()),
      }),
    )
    .min(1),
  extensions: z.record(z.string(), z.unknown()).optional(),
});
const receipt = z.looseObject({
  success: z.literal(true),
  transaction: z.string().regex(/^0x[0-9a-f]{64}$/),
  network: z.literal('eip155:84532'),
  payer: z.string(),
});

const errorCodeOf = ({ structuredContent }: ToolResult): unknown =>
  z.looseObject({ error: z.looseObject({ code: z.string() }) }).parse(structuredContent).error.code;

/** The order of things in `withX402Client` of agents 0.32.0: it looks for terms in one place only, and sends text. */
const payLikeAgents = async (
  client: TestClient,
  input: Record<string, unknown>,
): Promise<{ result: ToolResult; token: string }> => {
  const unpaid = await client.callTool(tool, input);
  expect(unpaid.isError).toBe(true);
  const { resource, accepts, extensions } = terms.parse(unpaid._meta['x402/error']);
  const account = privateKeyToAccount(search.chains.base.buyer.privateKey);
  const wallet = new x402Client()
    .register('eip155:*', new ExactEvmScheme(account))
    .onBeforePaymentCreation(({ selectedRequirements }) => {
      const { scheme, amount } = selectedRequirements;
      if (scheme !== 'exact' || BigInt(amount) > defaultCap) throw new Error('above the cap');
      return Promise.resolve();
    })
    .registerPolicy((_version, offers) => offers.filter(({ network }) => network === 'eip155:84532'));
  const payload = await wallet.createPaymentPayload({ x402Version: 2, resource, accepts, extensions });
  const token = btoa(JSON.stringify(payload));
  return { result: await client.callTool(tool, input, { meta: { 'x402/payment': token } }), token };
};

describe.each(clientKinds)('an agent of Cloudflare around $name', ({ connect }) => {
  it('finds the terms in _meta, pays with base64 text and reads result and receipt', async () => {
    const client = await connect(`${search.gateway.url}/mcp`, null);
    try {
      const listed = await client.listTools();
      expect(listed.map(({ name }) => name)).toEqual([tool]);
      const before = await search.earned();
      const input = { country: 'US', limit: 5 };
      const { result, token } = await payLikeAgents(client, input);
      expect(result.isError).toBe(false);
      expect(result.structuredContent).toMatchObject({ count: 5, results: expect.any(Array) });
      const paid = receipt.parse(result._meta['x402/payment-response']);
      expect(paid.payer).toBe(search.chains.base.buyer.address.toLowerCase());

      const meta = { 'x402/payment': token };
      const again = await client.callTool(tool, input, { meta });
      expect(again.structuredContent).toEqual(result.structuredContent);
      expect(again._meta['x402/payment-response']).toEqual(paid);
      const other = await client.callTool(tool, { country: 'DE', limit: 5 }, { meta });
      expect([other.isError, errorCodeOf(other)]).toEqual([true, 'payment_conflict']);
      expect(other._meta).not.toHaveProperty('x402/error');
      expect((await search.earned()) - before).toBe(searchPrice);
    } finally {
      await client.close();
    }
  });

  it('pays the default limit within its cap, and is asked for more than that openly', async () => {
    const client = await connect(`${search.gateway.url}/mcp`, null);
    try {
      const amountOf = async (input: Record<string, unknown>): Promise<string | undefined> =>
        terms.parse((await client.callTool(tool, input))._meta['x402/error']).accepts[0]?.amount;
      expect(await amountOf({})).toBe(String(defaultCap));
      await expect(payLikeAgents(client, { limit: 30 })).rejects.toThrow('above the cap');
    } finally {
      await client.close();
    }
  });

  it('is not asked to pay for a call that cannot run', async () => {
    const client = await connect(`${search.gateway.url}/mcp`, null);
    try {
      const refused = await client.callTool(tool, { limit: 5000 });
      expect([refused.isError, errorCodeOf(refused)]).toEqual([true, 'invalid_parameter']);
      expect(refused._meta).not.toHaveProperty('x402/error');
    } finally {
      await client.close();
    }
  });

  it('is told the terms again when its signature is nobody’s, and nothing is charged', async () => {
    const client = await connect(`${search.gateway.url}/mcp`, null);
    try {
      const before = await search.earned();
      const input = { country: 'FR', limit: 5 };
      const unpaid = terms.parse((await client.callTool(tool, input))._meta['x402/error']);
      const stranger = privateKeyToAccount(search.chains.base.facilitator.privateKey);
      const wallet = new x402Client().register('eip155:*', new ExactEvmScheme(stranger));
      const { resource, accepts } = unpaid;
      const proof = await wallet.createPaymentPayload({ x402Version: 2, resource, accepts });
      const result = await client.callTool(tool, input, {
        meta: { 'x402/payment': btoa(JSON.stringify(proof)) },
      });
      expect(result.isError).toBe(true);
      expect(terms.parse(result._meta['x402/error']).accepts).toEqual(accepts);
      expect(result._meta).not.toHaveProperty('x402/payment-response');
      expect(await search.earned()).toBe(before);
    } finally {
      await client.close();
    }
  });
});

describe('terms', () => {
  const ascii = /^[ -~]+$/;

  it('over MCP are plain ASCII, as agents encode them with btoa, which fails on anything else', async () => {
    const client = await clientKinds[0]!.connect(`${search.gateway.url}/mcp`, null);
    try {
      const unpaid = await client.callTool(tool, { query: 'café 🍰' });
      expect(JSON.stringify(unpaid._meta['x402/error'])).toMatch(ascii);
    } finally {
      await client.close();
    }
  });

  it('in the header of a 402 are plain ASCII, as clients decode them with atob, byte by byte', async () => {
    const unpaid = await sendExactly(search.gateway.url, { path: '/v1/search?query=caf%C3%A9' });
    expect(atob(unpaid.headers['payment-required'] ?? '')).toMatch(ascii);
  });
});

const answered = z.looseObject({
  result: z.looseObject({
    isError: z.boolean().optional(),
    structuredContent: z.record(z.string(), z.unknown()),
    _meta: z.record(z.string(), z.unknown()),
  }),
});

/** The JSON-RPC answer, alone or as the one event of a stream. */
const readAnswer = (body: string) => {
  const event = /^data: (.*)$/m.exec(body);
  return answered.parse(JSON.parse(event?.[1] ?? body)).result;
};

describe.each(['agents over the v1 MCP client', 'agents over the v2 MCP client'] as const)(
  'the recorded bytes of %s',
  (name) => {
    it('are served with a receipt and charged once, however often they come', async () => {
      const exchange = await readExchange(name);
      const before = await search.earned();
      const first = await sendExactly(search.gateway.url, exchange.request);
      expect(first.status).toBe(200);
      const result = readAnswer(first.body);
      expect(result.isError).not.toBe(true);
      expect(receipt.parse(result._meta['x402/payment-response'])).toMatchObject({
        ...exchange.receipt,
        transaction: expect.any(String),
      });
      const second = readAnswer((await sendExactly(search.gateway.url, exchange.request)).body);
      expect(second.structuredContent).toEqual(result.structuredContent);
      expect(second._meta['x402/payment-response']).toEqual(result._meta['x402/payment-response']);
      expect((await search.earned()) - before).toBe(searchPrice);
    });

    it('without their proof get terms of the shape that the client took', async () => {
      const { request, terms: taken } = await readExchange(name);
      const body = request.body?.replace(/,?"x402\/payment":"[^"]*"/, '') ?? '';
      const result = readAnswer((await sendExactly(search.gateway.url, { ...request, body })).body);
      const offered = terms.parse(result._meta['x402/error']);
      expect(result.structuredContent).toEqual(offered);
      expect(offered.accepts).toHaveLength(taken.accepts.length);
    });
  },
);

describe('a v1 proof of x402-fetch in _meta', () => {
  it.each(['base64 text', 'object'])('as %s is served and charged once', async (form) => {
    const exchange = await readExchange(form === 'object' ? 'x402-axios on Base' : 'x402-fetch on Base');
    const token = exchange.request.headers.find(([name]) => name === 'X-PAYMENT')?.[1] ?? '';
    const proof = form === 'object' ? decodeBase64Json(token) : token;
    const client = await clientKinds[0]!.connect(`${search.gateway.url}/mcp`, null);
    try {
      const before = await search.earned();
      const paid = await client.callTool(tool, { limit: 5 }, { meta: { 'x402/payment': proof } });
      expect(paid.isError).toBe(false);
      receipt.parse(paid._meta['x402/payment-response']);
      const again = await client.callTool(tool, { limit: 5 }, { meta: { 'x402/payment': proof } });
      expect(again.structuredContent).toEqual(paid.structuredContent);
      expect((await search.earned()) - before).toBe(searchPrice);
    } finally {
      await client.close();
    }
  });
});

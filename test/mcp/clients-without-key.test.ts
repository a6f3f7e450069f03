import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { toolOperations as operations } from '../operations/test-operations.ts';
import { clientKinds, type TestClient, type ToolResult } from './clients.ts';
import { shareClients } from './share-clients.ts';
import { startGateway, type TestGateway } from './start-gateway.ts';
import {
  startStubFacilitator,
  stubNetwork,
  stubTransaction,
  type StubFacilitator,
} from './stub-facilitator.ts';
import { readTable, toCells } from './read-table.ts';
import { toProof } from './to-proof.ts';
import { rulesOf } from '../../src/operations/sale-rules.ts';

const payTo = '0x00000000000000000000000000000000000000aa';
let facilitator: StubFacilitator;
let gateway: TestGateway;

beforeAll(async () => {
  facilitator = await startStubFacilitator();
  gateway = await startGateway({
    env: { ...facilitator.environment, X402_EVM_PAY_TO: payTo, SEARCH_RATE_PER_MINUTE: '10000' },
  });
  await vi.waitUntil(() => gateway.services.leads.status().ready, { timeout: 60_000 });
});
afterAll(async () => {
  await gateway.close();
  await facilitator.close();
});

const searchResult = z.object({ results: z.array(z.record(z.string(), z.unknown())), count: z.int() });
const keyless = operations.filter(({ sale }) => rulesOf(sale).isPaid).map(({ name }) => name);
const textOf = ({ content }: ToolResult): unknown => JSON.parse(content[0]?.text ?? '');

const profilesOf = ({ structuredContent }: ToolResult): Record<string, unknown>[] =>
  searchResult.parse(structuredContent).results;

const buySearch = async (client: TestClient, input: Record<string, unknown>): Promise<ToolResult> => {
  const terms = await client.callTool('search_leads', input);
  return client.callTool('search_leads', input, {
    meta: { 'x402/payment': toProof(terms.structuredContent) },
  });
};

const imageInput = { model: 'imagemodel-1.0', prompt: 'a lighthouse at dusk' };

describe.each(clientKinds)('$name without a key', ({ connect }) => {
  const using = shareClients(connect, () => gateway.url);

  it('sees the tools that are paid call by call, and reads that a key opens more', async () => {
    await using(null, async (client) => {
      expect((await client.listTools()).map(({ name }) => name)).toEqual(keyless);
      expect(client.instructions()).toMatch(/API key.*create_image/s);
    });
  });

  it('sees none in the generation group', async () => {
    const tools = await using(null, (client) => client.listTools(), '/mcp/generation');
    expect(tools).toEqual([]);
  });

  it('reads from a generation tool how to get a key', async () => {
    const result = await using(null, (client) => client.callTool('create_image', imageInput));
    expect(result.isError).toBe(true);
    expect(result.structuredContent?.['error']).toMatchObject({
      code: 'invalid_api_key',
      message: expect.stringContaining('Authorization: Bearer'),
    });
    expect(textOf(result)).toEqual(result.structuredContent);
  });

  it('is refused where a tool is not served', async () => {
    await expect(using(null, (client) => client.callTool('no_such_tool'))).rejects.toThrow(
      'Unknown tool: no_such_tool',
    );
    await expect(using(null, (client) => client.callTool('get_balance'), '/mcp/search')).rejects.toThrow(
      'Unknown tool: get_balance',
    );
  });

  it('gets the terms of a payment in structured content and in _meta, and those to pay by in the text', async () => {
    const result = await using(null, (client) => client.callTool('search_leads', { limit: 5 }));
    expect(result.isError).toBe(true);
    expect(result.structuredContent).toMatchObject({
      x402Version: 2,
      resource: { url: `${gateway.url}/mcp` },
      accepts: [{ scheme: 'exact', network: stubNetwork, amount: '100000', payTo }],
    });
    const { x402Version, resource, accepts } = result.structuredContent ?? {};
    expect(textOf(result)).toEqual({
      error: expect.stringContaining('This call costs $0.10'),
      x402Version,
      resource,
      accepts,
    });
    expect(result._meta['x402/error']).toEqual(result.structuredContent);
  });

  it('is told of a wrong argument before it is asked to pay', async () => {
    const result = await using(null, (client) => client.callTool('search_leads', { limit: 1000 }));
    expect(result.structuredContent?.['error']).toMatchObject({
      code: 'invalid_parameter',
      param: 'limit',
    });
  });

  it.each(['object', 'base64 text'])(
    'pays with a proof as %s, and gets the result with a receipt',
    async (form) => {
      await using(null, async (client) => {
        const input = { country: 'US', limit: 3 };
        const terms = await client.callTool('search_leads', input);
        // Some clients read the text alone.
        const proof = toProof(form === 'object' ? terms.structuredContent : textOf(terms));
        const sent = form === 'object' ? proof : Buffer.from(JSON.stringify(proof)).toString('base64');
        const before = facilitator.settlements();
        const paid = await client.callTool('search_leads', input, { meta: { 'x402/payment': sent } });
        expect(paid.isError).toBe(false);
        expect(paid.structuredContent).toMatchObject({
          count: expect.any(Number),
          results: expect.any(Array),
        });
        expect(paid.content[0]?.text).toMatch(/^3 profiles for \$0\.10, .*fictional\.\n\n/);
        expect(paid._meta).toMatchObject({
          'causeway/sandbox': true,
          'x402/payment-response': {
            success: true,
            transaction: stubTransaction(before + 1),
            network: stubNetwork,
          },
        });
        const again = await client.callTool('search_leads', input, { meta: { 'x402/payment': sent } });
        expect(again.structuredContent).toEqual(paid.structuredContent);
        expect(again.content).toEqual(paid.content);
        expect(facilitator.settlements() - before).toBe(1);
      });
    },
  );

  it('reads every field of every profile that it paid for, as structured content and as text', async () => {
    await using(null, async (client) => {
      const two = await buySearch(client, { query: 'coffee', limit: 2 });
      expect(Object.keys(two.structuredContent ?? {}).sort()).toEqual(['count', 'results']);
      expect(two.structuredContent).toMatchObject({ count: 2 });
      expect(two.content).toHaveLength(1);
      expect(readTable(two.content[0]?.text ?? '').rows).toEqual(profilesOf(two).map(toCells));
      const found = await gateway.services.leads.search(
        { query: 'coffee', limit: 2 },
        { signal: new AbortController().signal },
      );
      expect(profilesOf(two)).toEqual(found);
    });
  });

  it('pays nothing for a search that finds nobody, and may use its proof again', async () => {
    await using(null, async (client) => {
      const nobody = { query: 'nobodyiscalledthis' };
      const { structuredContent } = await client.callTool('search_leads', nobody);
      const meta = { 'x402/payment': toProof(structuredContent) };
      const before = facilitator.settlements();
      for (const attempt of [1, 2]) {
        const none = await client.callTool('search_leads', nobody, { meta });
        expect([attempt, none.structuredContent]).toEqual([attempt, { results: [], count: 0 }]);
        expect(none.content[0]?.text).toBe('No profile matches; nothing was charged.');
        expect(none._meta).not.toHaveProperty('x402/payment-response');
      }
      expect(facilitator.settlements()).toBe(before);
      const some = await client.callTool('search_leads', { limit: 1 }, { meta });
      expect(some.structuredContent).toMatchObject({ count: 1 });
      expect(some._meta).toHaveProperty('x402/payment-response');
      expect(facilitator.settlements()).toBe(before + 1);
    });
  });

  it('is told of an argument that the tool does not have before it is asked to pay', async () => {
    await using(null, async (client) => {
      const refused = await client.callTool('search_leads', { qurey: 'coffee' });
      expect(refused.structuredContent?.['error']).toMatchObject({
        code: 'invalid_parameter',
        param: 'qurey',
        message: 'qurey: is not a field here; did you mean query?',
      });
      const other = await client.callTool('search_leads', { query: 'coffee', colour: 'red' });
      expect(other.structuredContent?.['error']).toMatchObject({
        code: 'invalid_parameter',
        param: 'colour',
        message: 'colour: is not a field here',
      });
    });
  });

  it('is taken at any largest number of followers, and with empty texts for what is left out', async () => {
    await using(null, async (client) => {
      const all = await buySearch(client, { max_followers: Number.MAX_SAFE_INTEGER, limit: 3 });
      const same = await buySearch(client, { limit: 3, min_followers: '', max_followers: '', gender: '' });
      expect(profilesOf(all)).toHaveLength(3);
      expect(profilesOf(same)).toEqual(profilesOf(all));
      const usual = await buySearch(client, { limit: '' });
      expect(profilesOf(usual)).toHaveLength(20);
      const crossed = { min_followers: 10, max_followers: 9 };
      expect((await client.callTool('search_leads', crossed)).structuredContent?.['error']).toMatchObject({
        code: 'invalid_parameter',
        param: 'min_followers',
      });
    });
  });

  it('reads what is wrong with a proof', async () => {
    const result = await using(null, (client) =>
      client.callTool('search_leads', {}, { meta: { 'x402/payment': 'not base64 of JSON' } }),
    );
    expect(result.isError).toBe(true);
    expect(result.structuredContent?.['error']).toMatchObject({ code: 'invalid_payment' });
  });
});

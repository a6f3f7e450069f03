import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { toolOperations as operations } from '../operations/test-operations.ts';
import { clientKinds, type TestClient, type ToolResult } from './clients.ts';
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
  const client = await clientKinds[0]!.connect(`${gateway.url}/mcp`, gateway.apiKey);
  const begun = await client.callTool('create_video', { ...videoInput, return_last_frame: true });
  video = { id: jobIdOf(begun) };
  await client.callTool('get_video', { video_id: video.id, wait_ms: 45_000 });
  await client.close();
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
const chatInput = { messages: [{ role: 'user', content: 'Say hello.' }] };

const videoInput = { model: 'videomodel-2.0', prompt: 'a ferry', resolution: '480p', duration: 4 };
/** Made once, with its last frame. */
let video: { id: string };

const linksOf = ({ content }: ToolResult): { uri: string | undefined; mimeType: string | undefined }[] =>
  content.filter(({ type }) => type === 'resource_link').map(({ uri, mimeType }) => ({ uri, mimeType }));

const jobIdOf = (result: ToolResult): string => String(result.structuredContent?.['id']);

describe.each(clientKinds)('$name', ({ connect }) => {
  /** One client for each key and address, because clients compile the schemas of all tools that they list. */
  const connected = new Map<string, Promise<TestClient>>();
  const connectAndList = async (apiKey: string | null, path: string): Promise<TestClient> => {
    const client = await connect(`${gateway.url}${path}`, apiKey);
    // Clients check results against the schemas that they have listed.
    await client.listTools();
    return client;
  };
  const using = async <T>(
    apiKey: string | null,
    use: (client: TestClient) => Promise<T>,
    path = '/mcp',
  ): Promise<T> => {
    const name = `${apiKey} ${path}`;
    const client = connected.get(name) ?? connectAndList(apiKey, path);
    connected.set(name, client);
    return use(await client);
  };
  afterAll(async () => {
    for (const client of connected.values()) await (await client).close();
  });

  describe('without a key', () => {
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

  describe('with a key', () => {
    it('sees every tool of an address, in a fixed order', async () => {
      const names = async (path: string): Promise<string[]> =>
        using(gateway.apiKey, async (client) => (await client.listTools()).map(({ name }) => name), path);
      expect(await names('/mcp')).toEqual(operations.map(({ name }) => name));
      expect(await names('/mcp/search')).toEqual(keyless);
      expect(await names('/mcp/generation')).toEqual(
        operations.map(({ name }) => name).filter((name) => !keyless.includes(name)),
      );
    });

    it('gets from every tool what its whole schema promises, with a link for each medium', async () => {
      await using(gateway.apiKey, async (client) => {
        const answered = async (name: string, input: Record<string, unknown> = {}): Promise<ToolResult> => {
          const result = await client.callTool(name, input);
          expect([name, result.isError, result.structuredContent]).toMatchObject([name, false, {}]);
          // The tool list only outlines it.
          const operation = operations.find((candidate) => candidate.name === name);
          operation?.output.parse(result.structuredContent);
          expect(textOf(result)).toEqual(result.structuredContent);
          called.add(name);
          return result;
        };
        const called = new Set(keyless);
        for (const name of ['list_models', 'get_balance', 'get_usage', 'list_transactions', 'list_jobs'])
          await answered(name);
        await answered('get_job', { job_id: jobIdOf(await answered('create_chat_completion', chatInput)) });
        const response = await answered('create_response', { model: 'textmodel-3.1-pro', input: 'Hello' });
        await answered('get_response', { response_id: jobIdOf(response) });
        const image = await answered('get_job', {
          job_id: jobIdOf(await answered('create_image', imageInput)),
        });
        expect(linksOf(image)).toEqual([
          { uri: expect.stringMatching(/\/results\/\w+\.png$/), mimeType: 'image/png' },
        ]);
        const failing = { ...videoInput, prompt: '[sandbox:fail]' };
        expect(linksOf(await answered('create_video', failing))).toEqual([]);
        const content = `${gateway.url}/v1/videos/${video.id}/content`;
        const film = gateway.services.films.urlOf(video.id);
        expect(linksOf(await answered('get_video', { video_id: video.id }))).toMatchObject([
          { uri: film, mimeType: 'video/mp4' },
          { uri: `${content}?variant=last_frame` },
        ]);
        const where = await answered('get_video_content', { video_id: video.id });
        expect(where.structuredContent).toMatchObject({ url: content, content_type: 'video/mp4' });
        expect(linksOf(where)).toEqual([{ uri: film, mimeType: 'video/mp4' }]);
        const frame = await answered('get_video_content', { video_id: video.id, variant: 'last_frame' });
        for (const { uri, mimeType } of [...linksOf(where), ...linksOf(frame)]) {
          const [medium] = await client.readResource(uri ?? '');
          expect(medium).toMatchObject({ uri, mimeType, blob: expect.any(String) });
        }
        expect([...called].sort()).toEqual(operations.map(({ name }) => name).sort());
      });
    });

    it('waits for a job of any kind for 45 seconds at most', async () => {
      await using(gateway.apiKey, async (client) => {
        for (const [name, id] of [
          ['get_job', { job_id: video.id }],
          ['get_video', { video_id: video.id }],
        ] as const) {
          for (const wait of [0, 45_000])
            expect((await client.callTool(name, { ...id, wait_ms: wait })).isError).toBe(false);
          for (const wait of [-1, 45_001, 1.5, '10'])
            expect((await client.callTool(name, { ...id, wait_ms: wait })).structuredContent).toMatchObject({
              error: { code: 'invalid_parameter', param: 'wait_ms' },
            });
        }
      });
    });

    it('gets an answer of a text model, marked as made by the sandbox', async () => {
      const result = await using(gateway.apiKey, (client) =>
        client.callTool('create_chat_completion', chatInput),
      );
      expect(result.isError).toBe(false);
      expect(result.structuredContent).toMatchObject({
        object: 'chat.completion',
        choices: [{ finish_reason: 'stop' }],
      });
      expect(textOf(result)).toEqual(result.structuredContent);
      expect(result._meta['causeway/sandbox']).toBe(true);
    });

    it('gets JSON even if it asks for a stream, as tools have none', async () => {
      const result = await using(gateway.apiKey, (client) =>
        client.callTool('create_chat_completion', {
          ...chatInput,
          stream: true,
        }),
      );
      expect(result.structuredContent).toMatchObject({ object: 'chat.completion' });
    });

    it('gets an image as a link, and its URL in the text too', async () => {
      const result = await using(gateway.apiKey, (client) => client.callTool('create_image', imageInput));
      const [text, link] = result.content;
      expect(link).toMatchObject({
        type: 'resource_link',
        uri: expect.stringContaining(`${gateway.url}/`),
        mimeType: 'image/png',
        name: expect.stringMatching(/\.png$/),
      });
      expect(text?.text).toContain(link?.uri);
      expect(textOf(result)).toEqual(result.structuredContent);
      expect(result.structuredContent).toMatchObject({ status: 'done', data: [{ url: link?.uri }] });
    });

    it('reads a job, and that another one does not exist', async () => {
      await using(gateway.apiKey, async (client) => {
        const made = await client.callTool('create_image', { ...imageInput, async: true });
        const read = await client.callTool('get_job', { job_id: jobIdOf(made), wait_ms: 20_000 });
        expect(read.structuredContent).toMatchObject({ id: jobIdOf(made), status: 'done' });
        expect(textOf(read)).toEqual(read.structuredContent);
        const missing = await client.callTool('get_job', { job_id: randomUUID() });
        expect(missing.isError).toBe(true);
        expect(missing.structuredContent?.['error']).toMatchObject({ code: 'job_not_found' });
      });
    });

    it('gets the same job for the same idempotency key, and a conflict for another request', async () => {
      await using(gateway.apiKey, async (client) => {
        const keyed = { ...imageInput, idempotency_key: randomUUID() };
        const one = await client.callTool('create_image', keyed);
        const two = await client.callTool('create_image', keyed);
        expect(jobIdOf(two)).toBe(jobIdOf(one));
        expect(one._meta['causeway/idempotent-replayed']).toBeUndefined();
        expect(two._meta['causeway/idempotent-replayed']).toBe(true);
        const other = await client.callTool('create_image', { ...keyed, prompt: 'a harbour' });
        expect(other.structuredContent?.['error']).toMatchObject({ code: 'idempotency_conflict' });
        const wrong = await client.callTool('create_image', { ...imageInput, idempotency_key: 7 });
        expect(wrong.structuredContent?.['error']).toMatchObject({ param: 'idempotency_key' });
      });
    });

    it('reads every refusal although its result has a schema', async () => {
      await using(gateway.apiKey, async (client) => {
        const wrong: [string, Record<string, unknown>, string][] = [
          ['create_image', { model: 'no-such-model', prompt: 'x' }, 'model_not_found'],
          ['create_image', { model: 'imagemodel-1.0' }, 'invalid_parameter'],
          ['create_image', { ...imageInput, response_format: 'b64_json' }, 'unsupported_response_format'],
          ['create_chat_completion', { messages: [] }, 'invalid_parameter'],
          ['create_chat_completion', { ...chatInput, model: 'no-such-model' }, 'model_not_found'],
          [
            'create_chat_completion',
            { messages: [{ role: 'user', content: '[sandbox:moderated]' }] },
            'content_policy_violation',
          ],
        ];
        for (const [name, input, code] of wrong) {
          const result = await client.callTool(name, input);
          expect([name, result.isError, result.structuredContent?.['error']]).toMatchObject([
            name,
            true,
            { code },
          ]);
          expect(textOf(result)).toEqual(result.structuredContent);
        }
      });
    });
  });

  it('cannot connect with a wrong key', async () => {
    await expect(connect(`${gateway.url}/mcp`, 'sk_causeway_wrong')).rejects.toThrow(/API key|HTTP 401/);
  });
});

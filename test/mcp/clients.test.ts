import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { toolOperations as operations } from '../operations/test-operations.ts';
import { clientKinds, type ToolResult } from './clients.ts';
import { shareClients } from './share-clients.ts';
import { startGateway, type TestGateway } from './start-gateway.ts';
import { startStubFacilitator, type StubFacilitator } from './stub-facilitator.ts';
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

const keyless = operations.filter(({ sale }) => rulesOf(sale).isPaid).map(({ name }) => name);
const textOf = ({ content }: ToolResult): unknown => JSON.parse(content[0]?.text ?? '');

const imageInput = { model: 'imagemodel-1.0', prompt: 'a lighthouse at dusk' };
const chatInput = { messages: [{ role: 'user', content: 'Say hello.' }] };

const videoInput = { model: 'videomodel-2.0', prompt: 'a ferry', resolution: '480p', duration: 4 };
/** Made once, with its last frame. */
let video: { id: string };

const linksOf = ({ content }: ToolResult): { uri: string | undefined; mimeType: string | undefined }[] =>
  content.filter(({ type }) => type === 'resource_link').map(({ uri, mimeType }) => ({ uri, mimeType }));

const jobIdOf = (result: ToolResult): string => String(result.structuredContent?.['id']);

describe.each(clientKinds)('$name with a key', ({ connect }) => {
  const using = shareClients(connect, () => gateway.url);

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

  it('cannot connect with a wrong key', async () => {
    await expect(connect(`${gateway.url}/mcp`, 'sk_causeway_wrong')).rejects.toThrow(/API key|HTTP 401/);
  });
});

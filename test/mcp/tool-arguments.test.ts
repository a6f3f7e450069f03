import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../src/kit/errors.ts';
import { createToolWords } from '../../src/mcp/tool-words.ts';
import { toInputSchema } from '../../src/mcp/tool-schemas.ts';
import { validate } from '../../src/operations/validate.ts';
import { issueKey } from '../../src/accounts/keys.ts';
import { noLimits } from '../../src/rules/key-limits.ts';
import { toolOperations as operations } from '../operations/test-operations.ts';
import { clientKinds, type TestClient } from './clients.ts';
import { startGateway, type TestGateway } from './start-gateway.ts';

let gateway: TestGateway;
let client: TestClient;

beforeAll(async () => {
  gateway = await startGateway({});
  client = await clientKinds[0]!.connect(`${gateway.url}/mcp`, gateway.apiKey);
});
afterAll(async () => {
  await client.close();
  await gateway.close();
});

const refusalOf = async (name: string, input: Record<string, unknown>): Promise<unknown> =>
  (await client.callTool(name, input)).structuredContent?.['error'];

describe('an argument that a tool does not declare', () => {
  it.each(operations.map(({ name }) => name))('is refused by %s, with the near name', async (name) => {
    expect(await refusalOf(name, { zzzzzz: 1 })).toMatchObject({
      code: 'invalid_parameter',
      param: 'zzzzzz',
      message: expect.stringContaining('zzzzzz: is not a field here'),
    });
    const operation = operations.find((one) => one.name === name)!;
    const shape = 'shape' in operation.input ? Object.keys(Object(operation.input.shape)) : [];
    const [long] = shape.filter((field) => field.length > 4);
    if (long === undefined) return;
    expect(await refusalOf(name, { [`${long}x`]: 1 })).toMatchObject({
      message: expect.stringContaining(`${long}x: is not a field here; did you mean ${long}?`),
    });
  });
});

describe('an argument that a tool lists with a default', () => {
  it('is taken when it is sent with it', async () => {
    const listed: { name: string; inputSchema?: { properties?: Record<string, object> } }[] =
      await client.listTools();
    const defaults = listed.flatMap(({ name, inputSchema }) =>
      Object.entries(inputSchema?.properties ?? {}).flatMap(([argument, schema]) =>
        'default' in schema ? [{ name, argument, value: schema.default }] : [],
      ),
    );
    expect(defaults.length).toBeGreaterThan(5);
    for (const { name, argument, value } of defaults)
      expect([name, JSON.stringify(await refusalOf(name, { [argument]: value }))]).not.toEqual([
        name,
        expect.stringContaining(`${argument}: `),
      ]);
  });
});

describe('an argument that is null', () => {
  const optional = operations.flatMap((operation) => {
    const { properties, required = [] } = toInputSchema(operation);
    return Object.keys(properties)
      .filter((argument) => !required.includes(argument) && argument !== 'custom_data')
      .map((argument) => [operation.name, argument] as const);
  });

  it.each(optional)('means to %s the same as none: %s', async (name, argument) => {
    expect(JSON.stringify(await refusalOf(name, { [argument]: null }))).toBe(
      JSON.stringify(await refusalOf(name, {})),
    );
  });

  it('is refused where one is required, and as custom_data, which may not be null', () => {
    const operation = operations.find(({ name }) => name === 'create_image')!;
    expect(() => validate(operation, { prompt: null }, 'mcp')).toThrow('prompt: is required');
    expect(() => validate(operation, { prompt: 'x', custom_data: null }, 'mcp')).toThrow('custom_data');
  });
});

describe('a model', () => {
  const made = async (apiKey: string, name: string, input: Record<string, unknown>): Promise<unknown> => {
    const own = await clientKinds[0]!.connect(`${gateway.url}/mcp`, apiKey);
    const { structuredContent } = await own.callTool(name, input);
    await own.close();
    return structuredContent;
  };

  it('may be left out over MCP, or be null, and is then the default one of its kind', async () => {
    for (const model of [undefined, null])
      expect(await made(gateway.apiKey, 'create_image', { prompt: 'a pier', model })).toMatchObject({
        model: 'imagemodel-1.0',
        status: 'done',
      });
    expect(
      await made(gateway.apiKey, 'create_video', { prompt: 'a pier', resolution: '480p', duration: 4 }),
    ).toMatchObject({ model: 'videomodel-2.0' });
  });

  it('is one that the key can buy, as are those that its tools name', async () => {
    const issued = await issueKey(gateway.services, {
      accountId: gateway.accountId,
      label: 'one model',
      brand: 'causeway',
      limits: { ...noLimits, models: ['videomodel-2.5'] },
    });
    if (issued.outcome !== 'issued') throw new Error('the key was not issued');
    const film = { prompt: 'a pier', resolution: '480p', duration: 4 };
    expect(await made(issued.key, 'create_video', film)).toMatchObject({ model: 'videomodel-2.5' });
    expect(await made(issued.key, 'create_image', { prompt: 'a pier' })).toMatchObject({
      error: { code: 'model_not_found' },
    });
    const own = await clientKinds[0]!.connect(`${gateway.url}/mcp`, issued.key);
    const tools: { name: string; inputSchema?: { properties?: object } }[] = await own.listTools();
    await own.close();
    expect(tools.find(({ name }) => name === 'create_video')?.inputSchema?.properties).toMatchObject({
      model: { enum: ['videomodel-2.5'], default: 'videomodel-2.5' },
    });
    expect(tools.map(({ name }) => name)).not.toContain('create_image');
  });

  it.each(['create_image', 'create_video'])('stays required over REST for %s', (name) => {
    const operation = operations.find((one) => one.name === name)!;
    expect(() => validate(operation, { prompt: 'a pier' })).toThrow('model: is required');
    expect(validate(operation, { prompt: 'a pier' }, 'mcp')).toMatchObject({ prompt: 'a pier' });
  });
});

describe('the text of a refusal', () => {
  it('names tools and their arguments over MCP, where REST has methods and paths', async () => {
    const film = { prompt: '[sandbox:slow=30] a pier', model: 'videomodel-2.0', duration: 4 };
    const begun = await client.callTool('create_video', { ...film, resolution: '480p' });
    const refusals: [string, Record<string, unknown>, string][] = [
      ['create_image', { prompt: 'x', model: 'none' }, 'See list_models.'],
      ['create_video', { prompt: 'x', model: 'none' }, 'See list_models.'],
      [
        'create_chat_completion',
        { messages: [{ role: 'user', content: 'x' }], model: 'none' },
        'list_models',
      ],
      ['create_response', { input: 'x', model: 'none' }, 'See list_models.'],
      ['create_response', { input: 'x', background: true }, 'is read with get_response.'],
      ['get_video_content', { video_id: begun.structuredContent?.['id'] }, 'Poll get_video until'],
    ];
    for (const [name, input, words] of refusals) {
      const result = await client.callTool(name, input);
      expect([name, result.isError]).toEqual([name, true]);
      const text = result.content[0]?.text ?? '';
      expect(text).toContain(words);
      expect(text).not.toContain('/v1/');
    }
  });

  it('names the values that a path has, and the places in a message of headers', () => {
    const inToolWords = createToolWords(operations);
    const messageOf = (text: string): string => inToolWords(new AppError('not_found', text)).message;
    expect(messageOf('It goes on. Read it with GET /v1/jobs/019ab1c2-3d4e.')).toBe(
      'It goes on. Read it with get_job (job_id: 019ab1c2-3d4e).',
    );
    expect(messageOf('See GET /v1/videos/{id}, or wait.')).toBe('See get_video, or wait.');
    expect(messageOf('This Idempotency-Key was used.')).toBe('This idempotency_key was used.');
    expect(messageOf('Wait as long as Retry-After says.')).toBe('Wait as long as retry_after_seconds says.');
    expect(messageOf('the terms in PAYMENT-REQUIRED')).toBe('the terms in _meta["x402/error"]');
  });

  it('keeps all else of the refusal', () => {
    const error = new AppError('rate_limit_exceeded', 'See GET /v1/models.', {
      param: 'model',
      retryAfterSeconds: 7,
      headers: { 'payment-response': 'e30=' },
    });
    expect(createToolWords(operations)(error)).toMatchObject({
      code: 'rate_limit_exceeded',
      message: 'See list_models.',
      param: 'model',
      retryAfterSeconds: 7,
      headers: { 'payment-response': 'e30=' },
      cause: error,
    });
  });
});

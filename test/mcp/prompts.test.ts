import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const connect = async (path: string, key: string | null = gateway.apiKey): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const headers = key === null ? {} : { authorization: `Bearer ${key}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(gateway.url + path), { requestInit: { headers } }),
  );
  return client;
};

const namesAt = async (path: string, key?: string | null): Promise<string[]> => {
  const client = await connect(path, key);
  const { prompts } = await client.listPrompts();
  await client.close();
  return prompts.map(({ name }) => name);
};

const complete = async (name: string, argument: string, value: string) => {
  const client = await connect('/mcp');
  const ref = { type: 'ref/prompt' as const, name };
  const { completion } = await client.complete({ ref, argument: { name: argument, value } });
  await client.close();
  return completion;
};

describe('the prompts', () => {
  it('are those whose tool the address offers to the client', async () => {
    expect(await namesAt('/mcp')).toEqual(['find_creators', 'make_picture', 'make_film', 'show_spending']);
    expect(await namesAt('/mcp', null)).toEqual(['find_creators']);
    expect(await namesAt('/mcp/generation')).toEqual(['make_picture', 'make_film', 'show_spending']);
    expect(await namesAt('/mcp/account/read-only')).toEqual(['show_spending']);
  });

  it('write a message with the arguments that were given', async () => {
    const client = await connect('/mcp');
    const found = await client.getPrompt({
      name: 'find_creators',
      arguments: { subject: 'coffee', country: 'US' },
    });
    expect(found.messages).toEqual([
      {
        role: 'user',
        content: { type: 'text', text: expect.stringContaining('search_leads: coffee, country US.') },
      },
    ]);
    const plain = await client.getPrompt({ name: 'show_spending' });
    expect(JSON.stringify(plain.messages)).toContain('get_usage');
    await client.close();
  });

  it('refuse a missing argument, and a prompt that the address does not offer', async () => {
    const client = await connect('/mcp/search');
    await expect(client.getPrompt({ name: 'find_creators', arguments: {} })).rejects.toThrow(
      'subject: is missing. What they post about.',
    );
    await expect(client.getPrompt({ name: 'make_film' })).rejects.toThrow('Unknown prompt: make_film');
    await expect(
      client.complete({ ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'model', value: '' } }),
    ).rejects.toThrow('Unknown prompt: x');
    await client.close();
  });
});

describe('a completion', () => {
  it('has the models of the kind that the prompt uses, which begin with what was typed', async () => {
    const { values } = await complete('make_picture', 'model', 'IMAGE');
    expect(values).toContain('imagemodel-1.0');
    expect(values.filter((value) => !value.startsWith('imagemodel'))).toEqual([]);
    expect((await complete('make_film', 'model', 'image')).values).toEqual([]);
  });

  it('has the countries and categories of the profiles, at most a hundred', async () => {
    await expect
      .poll(async () => (await complete('find_creators', 'country', 'u')).values, { timeout: 60_000 })
      .toContain('US');
    const { values, total, hasMore } = await complete('find_creators', 'category', '');
    expect(values.length).toBeGreaterThan(0);
    expect(values.length).toBeLessThanOrEqual(100);
    expect([total, hasMore]).toEqual([values.length, false]);
    expect((await complete('find_creators', 'subject', 'c')).values).toEqual([]);
  });

  it('has the models for the template of a model, and nothing for other templates or without a key', async () => {
    const of = async (uri: string, key: string | null = gateway.apiKey): Promise<string[]> => {
      const client = await connect('/mcp', key);
      const { completion } = await client.complete({
        ref: { type: 'ref/resource', uri },
        argument: { name: 'model', value: 'video' },
      });
      await client.close();
      return completion.values;
    };
    expect(await of('causeway://models/{model}')).toContain('videomodel-2.0');
    expect(await of('causeway://jobs/{job_id}')).toEqual([]);
    expect(await of('causeway://models/{model}', null)).toEqual([]);
  });
});

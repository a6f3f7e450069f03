import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
let openai: OpenAI;

beforeAll(async () => {
  gateway = await startTestGateway();
  openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.apiKey, maxRetries: 0 });
});

afterAll(() => gateway.stop());

const question = [{ role: 'user' as const, content: 'What is a causeway?' }];

describe('the openai package, pointed at the gateway', () => {
  it('lists models', async () => {
    const models = await Array.fromAsync(await openai.models.list());
    expect(models.map(({ id }) => id)).toContain('textmodel-3.5-flash');
  });

  it('chats', async () => {
    const completion = await openai.chat.completions.create({
      model: 'textmodel-3.5-flash',
      messages: question,
    });
    expect(completion.id).toMatch(/^chatcmpl-[0-9a-f-]{36}$/);
    expect(completion.choices[0]?.message.content).toBeTruthy();
    expect(completion.choices[0]?.finish_reason).toBe('stop');
    expect(completion.usage?.total_tokens).toBe(
      (completion.usage?.prompt_tokens ?? 0) + (completion.usage?.completion_tokens ?? 0),
    );
  });

  it('streams the same text as it answers whole', async () => {
    const whole = await openai.chat.completions.create({ model: 'textmodel-3.5-flash', messages: question });
    const stream = openai.chat.completions.stream({ model: 'textmodel-3.5-flash', messages: question });
    const streamed = await stream.finalChatCompletion();
    expect(streamed.choices[0]?.message.content).toBe(whole.choices[0]?.message.content);
  });

  it('ends every stream with the usage', async () => {
    const stream = await openai.chat.completions.create({
      model: 'textmodel-3.1-pro',
      messages: question,
      stream: true,
    });
    const chunks = await Array.fromAsync(stream);
    expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant');
    expect(chunks.at(-1)?.choices).toEqual([]);
    expect(chunks.at(-1)?.usage?.total_tokens).toBeGreaterThan(0);
  });

  it('calls a tool and answers with its result', async () => {
    const tools: OpenAI.ChatCompletionTool[] = [
      {
        type: 'function',
        function: {
          name: 'get_weather',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      },
    ];
    const first = await openai.chat.completions.create({
      model: 'textmodel-3.5-flash',
      messages: question,
      tools,
      tool_choice: 'required',
    });
    const message = first.choices[0]?.message;
    const call = message?.tool_calls?.[0];
    expect(first.choices[0]?.finish_reason).toBe('tool_calls');
    if (message === undefined || call?.type !== 'function') throw new Error('no function call came');
    expect(JSON.parse(call.function.arguments)).toHaveProperty('city');
    const second = await openai.chat.completions.create({
      model: 'textmodel-3.5-flash',
      messages: [...question, message, { role: 'tool', tool_call_id: call.id, content: 'Sunny, 21 degrees' }],
      tools,
    });
    expect(second.choices[0]?.message.content).toBeTruthy();
    const third = await openai.chat.completions.create({
      model: 'textmodel-3.5-flash',
      messages: [...question, message, { role: 'tool', tool_call_id: call.id, content: 'Sunny, 21 degrees' }],
      tools,
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
    });
    expect(third.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ function: { name: 'get_weather' } }] },
    });
  });

  it('makes an image', async () => {
    const image = await openai.images.generate({ model: 'imagemodel-1.0', prompt: 'A lighthouse', n: 1 });
    const url = image.data?.[0]?.url ?? '';
    const response = await fetch(url);
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    const bytes = new Uint8Array(await response.arrayBuffer());
    expect([...bytes.subarray(0, 8)]).toEqual([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  });

  it('reads and downloads a video that `post` started, and is refused by all else of `videos`', async () => {
    const body = { model: 'videomodel-2.0', prompt: 'A pier', duration: 4, resolution: '480p' };
    const { id } = await openai.post<{ id: string }>('/videos', { body });
    await vi.waitUntil(async () => (await openai.videos.retrieve(id)).status === 'completed', {
      timeout: 60_000,
      interval: 200,
    });
    const film = await openai.videos.downloadContent(id);
    expect(film.headers.get('content-type')).toBe('video/mp4');
    await film.arrayBuffer();
    const { videos } = openai;
    const source = { prompt: 'again', video: { id } };
    const refused = await Promise.allSettled([
      videos.create({ prompt: 'A pier' }),
      videos.downloadContent(id, { variant: 'thumbnail' }),
      videos.list(),
      videos.delete(id),
      videos.edit(source),
      videos.extend({ ...source, seconds: '4' }),
      videos.remix(id, { prompt: 'again' }),
    ]);
    expect(refused.map((one) => (one.status === 'rejected' ? Number(one.reason.status) : 200))).toEqual([
      400, 422, 405, 405, 405, 405, 404,
    ]);
  });

  it('sees errors as its own classes', async () => {
    const stranger = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'sk_causeway_wrong', maxRetries: 0 });
    await expect(stranger.models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    await expect(
      openai.chat.completions.create({ model: 'gpt-unknown', messages: question }),
    ).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    await expect(
      openai.chat.completions.create({ model: 'textmodel-3.5-flash', messages: question, n: 2 }),
    ).rejects.toBeInstanceOf(OpenAI.UnprocessableEntityError);
  });
});

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Moderator } from '../../../src/providers/provider.ts';
import { createOpenAiClient, type OpenAiClient } from '../../../src/providers/openai/openai-client.ts';
import { createOpenAiModerator } from '../../../src/providers/openai/openai-moderator.ts';
import { noAbort, rejectionOf } from '../collect.ts';
import { startStubUpstream, type StubUpstream } from '../stub-upstream.ts';

const timeouts = { connectMs: 5_000, firstByteMs: 20_000, idleMs: 20_000, totalMs: 25_000 };
const png = Buffer.from('89504e470d0a1a0a', 'hex');
const picture = { contentType: 'image/png', load: async () => png };

describe('the moderation pass', () => {
  let stub: StubUpstream;
  let client: OpenAiClient;
  let moderator: Moderator;
  beforeEach(async () => {
    stub = await startStubUpstream();
    client = createOpenAiClient({ baseUrl: stub.baseUrl, apiKey: 'sk-moderation', timeouts });
    moderator = createOpenAiModerator({ client, model: 'omni-moderation-latest' });
  });
  afterEach(async () => {
    await client.close();
    await stub.close();
  });

  const answers = (...flags: boolean[]): void =>
    stub.script(
      ...flags.map((flagged) => ({
        kind: 'raw' as const,
        headers: { 'content-type': 'application/json' },
        chunks: [JSON.stringify({ id: 'modr-1', model: 'm', results: [{ flagged, categories: {} }] })],
      })),
    );
  const check = (text: string, images = [picture]): Promise<void> =>
    moderator.check({ text, images }, { signal: noAbort() });

  it('looks at every piece of the text and at every image, and lets good ones pass', async () => {
    answers(false, false, false, false);
    await check(`${'x'.repeat(20_000)}y`, [picture, picture]);
    expect(stub.requests.map(({ path }) => path)).toEqual(Array(4).fill('/v1/moderations'));
    const inputs = stub.requests.map(({ body }) => (body as { input: unknown[] }).input);
    const image = { url: `data:image/png;base64,${png.toString('base64')}` };
    expect(inputs).toEqual([
      [{ type: 'text', text: 'x'.repeat(20_000) }],
      [{ type: 'text', text: `${'x'.repeat(500)}y` }],
      [{ type: 'image_url', image_url: image }],
      [{ type: 'image_url', image_url: image }],
    ]);
    expect(stub.requests[0]).toMatchObject({
      headers: { authorization: 'Bearer sk-moderation' },
      body: { model: 'omni-moderation-latest' },
    });
  });

  it('looks at pictures alone where there is no text', async () => {
    answers(false);
    await check('', [picture]);
    expect(stub.requests.map(({ body }) => body)).toMatchObject([{ input: [{ type: 'image_url' }] }]);
  });

  it.each([
    ['the text', [true], 1],
    ['an image', [false, true], 2],
  ])('refuses what has %s flagged, and looks no further', async (_what, flags, calls) => {
    answers(...flags);
    expect(await rejectionOf(check('A prompt', [picture, picture]))).toMatchObject({
      code: 'content_policy_violation',
      failure: 'fatal',
    });
    expect(stub.requests).toHaveLength(calls);
  });

  it.each([
    ['an error', { kind: 'error', status: 500 }],
    ['no connection', { kind: 'hang-up' }],
    ['a page', { kind: 'raw', headers: { 'content-type': 'text/html' }, chunks: ['<!doctype html>'] }],
    [
      'something else',
      { kind: 'raw', headers: { 'content-type': 'application/json' }, chunks: ['{"results":[]}'] },
    ],
  ] as const)('does not take %s for a good word', async (_what, behaviour) => {
    stub.script(behaviour);
    const error = await rejectionOf(check('A prompt', []));
    expect(error).toMatchObject({ name: 'ProviderError', code: 'upstream_error' });
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ImageRequest } from '../../../src/providers/image/image-provider.ts';
import {
  createOpenAiImage,
  type OpenAiImageOptions,
  upstreamSize,
} from '../../../src/providers/openai/openai-image.ts';
import { createOpenAiClient, type OpenAiClient } from '../../../src/providers/openai/openai-client.ts';
import { failing, limits, openOutbound, startRaw } from '../../http/local-hosts.ts';
import { noAbort, rejectionOf } from '../collect.ts';
import {
  contentPolicyRefusal,
  startStubUpstream,
  type StubBehaviour,
  type StubUpstream,
} from '../stub-upstream.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);
const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16, 0x4a, 0x46, 0x49, 0x46]);
const webp = Buffer.from('RIFF\x04\0\0\0WEBPVP8 ', 'latin1');

const timeouts = { connectMs: 5_000, firstByteMs: 20_000, idleMs: 20_000, totalMs: 25_000 };

let stub: StubUpstream;
let client: OpenAiClient;

beforeAll(async () => {
  stub = await startStubUpstream();
  client = createOpenAiClient({
    baseUrl: stub.baseUrl,
    apiKey: 'sk-upstream',
    timeouts,
  });
});
afterAll(async () => {
  await client.close();
  await stub.close();
});

const request: ImageRequest = { model: 'gpt-image-1', prompt: 'a fox', aspectRatio: '16:9', inputs: [] };

const generate = (
  signal = noAbort(),
  changes: Partial<ImageRequest> = {},
  from: Partial<OpenAiImageOptions> = {},
) =>
  createOpenAiImage({ client, outbound: openOutbound(), totalMs: timeouts.totalMs, ...from }).generate(
    { ...request, ...changes },
    { signal },
  );

describe('an image of an OpenAI-compatible upstream', () => {
  it('is asked for alone, in the nearest size', async () => {
    stub.script({ kind: 'images', images: [{ b64_json: png.toString('base64') }] });
    await generate();
    expect(stub.requests.at(-1)).toMatchObject({ method: 'POST', path: '/v1/images/generations' });
    expect(stub.requests.at(-1)?.body).toEqual({
      model: 'gpt-image-1',
      prompt: 'a fox',
      n: 1,
      size: '1536x1024',
    });
  });

  it.each([
    ['image/png', png],
    ['image/jpeg', jpeg],
    ['image/webp', webp],
  ])('may come as base64 and is %s by its bytes', async (contentType, bytes) => {
    stub.script({
      kind: 'images',
      images: [{ b64_json: bytes.toString('base64'), revised_prompt: 'a red fox' }],
    });
    const image = await generate();
    expect(image).toMatchObject({ contentType, revisedPrompt: 'a red fox' });
    expect(Buffer.from(image.bytes).equals(bytes)).toBe(true);
  });

  it('may come as a data URL in place of base64', async () => {
    const b64_json = `data:image/png;base64,${png.toString('base64')}`;
    stub.script({ kind: 'images', images: [{ b64_json }] });
    expect(Buffer.from((await generate()).bytes).equals(png)).toBe(true);
  });

  it('is fetched again, and not made again, when its URL fails at first', async () => {
    const from = stub.requests.length;
    stub.script(
      { kind: 'images', images: [{ url: `${stub.baseUrl}/late` }] },
      { kind: 'error', status: 404 },
      { kind: 'hang-up' },
      { kind: 'raw', chunks: [png] },
    );
    expect(await generate()).toMatchObject({ contentType: 'image/png' });
    const methods = stub.requests.slice(from).map(({ method }) => method);
    expect(methods).toEqual(['POST', 'GET', 'GET', 'GET']);
  });

  it.each([
    ['', { data: [], error: { code: 'moderation_blocked', message: 'Not this.' } }],
    [
      ' in the place of the image (ModelArk)',
      { data: [{ error: { code: 'OutputImageSensitiveContentDetected', message: 'Not this.' } }] },
    ],
  ])('is refused by content policy also in a good answer%s', async (_where, body) => {
    stub.script({ kind: 'raw', chunks: [JSON.stringify(body)] });
    expect(await rejectionOf(generate())).toMatchObject({
      failure: 'fatal',
      code: 'content_policy_violation',
      explanation: 'Not this.',
    });
  });

  it('may come as a URL, which is fetched without the key', async () => {
    const url = stub.serveFile('/files/fox.png', { bytes: png, contentType: 'application/octet-stream' });
    stub.script({ kind: 'images', images: [{ url }] });
    const image = await generate();
    expect(image).toMatchObject({ contentType: 'image/png', revisedPrompt: null });
    expect(Buffer.from(image.bytes).equals(png)).toBe(true);
    expect(stub.requests.at(-1)).toMatchObject({ method: 'GET', path: '/files/fox.png' });
    expect(stub.requests.at(-1)?.headers.authorization).toBeUndefined();
  });

  it('is not fetched from an address that is not public, and not asked for again', async () => {
    const url = stub.serveFile('/files/private.png', { bytes: png, contentType: 'image/png' });
    const outbound = openOutbound({ allowsLoopback: false });
    const before = stub.requests.length;
    for (const named of [url, 'https://169.254.169.254/latest/meta-data', 'https://[::1]/x.png']) {
      stub.script({ kind: 'images', images: [{ url: named }] });
      expect(await rejectionOf(generate(noAbort(), {}, { outbound }))).toMatchObject({
        name: 'ProviderError',
        failure: 'ambiguous',
        cause: { name: 'OutboundError' },
      });
    }
    expect(stub.requests.slice(before).map(({ method }) => method)).toEqual(['POST', 'POST', 'POST']);
  });

  it('is fetched while inputs take every place, and given up when it takes too long', async () => {
    const outbound = openOutbound({ atOnce: 1, waiting: 0 });
    const silent = await startRaw('');
    outbound.download(silent, limits).catch(() => undefined);
    await expect(outbound.download(silent, limits)).rejects.toEqual(failing('busy'));
    stub.script({ kind: 'images', images: [{ url: silent }] });
    const error = await rejectionOf(generate(noAbort(), {}, { outbound, totalMs: 300 }));
    expect(error).toMatchObject({ failure: 'ambiguous', cause: { failure: 'timeout' } });
  });

  it('is given up when the caller aborts while it is fetched', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const silent = await startRaw('', () => controller.abort(reason));
    stub.script({ kind: 'images', images: [{ url: silent }] });
    expect(await rejectionOf(generate(controller.signal))).toBe(reason);
  });

  it.each([
    ['no image', []],
    ['an image without bytes', [{ revised_prompt: 'x' }]],
    ['bytes of another kind', [{ b64_json: Buffer.from('<svg/>').toString('base64') }]],
    ['a URL of another scheme', [{ url: 'file:///etc/passwd' }]],
    ['a URL that is none', [{ url: 'nowhere' }]],
  ])('fails, and is not asked for again, when the answer is %s', async (_name, images) => {
    stub.script({ kind: 'images', images });
    expect(await rejectionOf(generate())).toMatchObject({ name: 'ProviderError', failure: 'ambiguous' });
  });

  it('fails when its URL has too many bytes', async () => {
    const url = stub.serveFile('/files/huge', {
      bytes: Buffer.alloc(33 * 1024 * 1024),
      contentType: 'image/png',
    });
    stub.script({ kind: 'images', images: [{ url }] });
    expect(await rejectionOf(generate())).toMatchObject({ failure: 'ambiguous' });
  });

  it('fails when its URL answers an error', async () => {
    const gone: StubBehaviour = { kind: 'error', status: 404 };
    stub.script({ kind: 'images', images: [{ url: `${stub.baseUrl}/gone` }] }, gone, gone, gone);
    expect(await rejectionOf(generate())).toMatchObject({ failure: 'ambiguous' });
  });

  it('is refused with the explanation of the content policy', async () => {
    stub.script(contentPolicyRefusal);
    expect(await rejectionOf(generate())).toMatchObject({
      code: 'content_policy_violation',
      explanation: 'Your request was rejected by the safety system.',
    });
  });

  it('fails when the answer is not JSON', async () => {
    stub.script({ kind: 'raw', headers: { 'content-type': 'application/json' }, chunks: ['{"data": ['] });
    expect(await rejectionOf(generate())).toMatchObject({ name: 'ProviderError', failure: 'ambiguous' });
  });

  it('is given up when the caller aborts', async () => {
    stub.script({ kind: 'silence' });
    const controller = new AbortController();
    const reason = new Error('enough');
    const before = stub.requests.length;
    const generating = generate(controller.signal);
    while (stub.requests.length === before) await stub.nextRequest();
    controller.abort(reason);
    expect(await rejectionOf(generating)).toBe(reason);
    await stub.requests.at(-1)?.closed;
  });
});

describe('a failure of an image', () => {
  it.each([
    [400, { failure: 'fatal', code: 'invalid_parameter' }],
    [401, { failure: 'retry_other', code: 'upstream_unavailable' }],
    [404, { failure: 'retry_other', code: 'upstream_unavailable' }],
    [409, { failure: 'retry_same', code: 'upstream_error' }],
    [429, { failure: 'retry_same', code: 'rate_limit_exceeded', retryAfterMs: 7_000 }],
    [500, { failure: 'retry_same', code: 'upstream_error' }],
    [503, { failure: 'retry_same', code: 'upstream_unavailable' }],
  ])('with status %i has its class, and is not repeated by the client', async (status, expected) => {
    const before = stub.requests.length;
    const headers = { 'retry-after': '7', 'x-should-retry': 'true' };
    stub.script({ kind: 'error', status, message: 'out of order', headers });
    const error = await rejectionOf(generate());
    expect(error).toMatchObject({ name: 'ProviderError', ...expected });
    expect(String(error)).toContain(`the upstream answered ${status}: invalid_request_error, out of order`);
    expect(stub.requests).toHaveLength(before + 1);
  });

  it('by a lost answer, or one that is late or too large, may have made the image', async () => {
    const hasty = createOpenAiClient({
      baseUrl: stub.baseUrl,
      apiKey: null,
      timeouts: { ...timeouts, firstByteMs: 300 },
    });
    onTestFinished(() => hasty.close());
    stub.script({ kind: 'hang-up' }, { kind: 'silence' });
    const failures = [
      await rejectionOf(generate(noAbort(), {}, { client: hasty })),
      await rejectionOf(generate(noAbort(), {}, { client: hasty })),
    ];
    stub.script({ kind: 'raw', chunks: Array(49).fill(Buffer.alloc(1024 ** 2, ' ')) });
    failures.push(await rejectionOf(generate()));
    expect(failures).toMatchObject([
      { name: 'ProviderError', failure: 'ambiguous', cause: { failure: 'broken_off' } },
      { name: 'ProviderError', failure: 'ambiguous', cause: { failure: 'timeout' } },
      { name: 'ProviderError', failure: 'ambiguous', cause: { failure: 'too_large' } },
    ]);
  });

  it('to connect did nothing', async () => {
    const gone = await startStubUpstream();
    await gone.close();
    const nobody = createOpenAiClient({ baseUrl: gone.baseUrl, apiKey: null, timeouts });
    onTestFinished(() => nobody.close());
    expect(await rejectionOf(generate(noAbort(), {}, { client: nobody }))).toMatchObject({
      failure: 'retry_same',
      code: 'upstream_unavailable',
    });
  });
});

describe('the call of an image', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('tells nothing of this machine and of its environment', async () => {
    for (const name of ['OPENAI_API_KEY', 'OPENAI_ADMIN_KEY', 'OPENAI_ORG_ID', 'OPENAI_PROJECT_ID'])
      vi.stubEnv(name, 'sk-of-the-machine');
    vi.stubEnv('OPENAI_BASE_URL', 'http://127.0.0.1:1/v1');
    vi.stubEnv('OPENAI_CUSTOM_HEADERS', 'authorization: Bearer sk-of-the-machine\nx-machine: yes');
    const keyless = createOpenAiClient({ baseUrl: stub.baseUrl, apiKey: null, timeouts });
    onTestFinished(() => keyless.close());
    const images = [{ b64_json: png.toString('base64') }];
    for (const inputs of [[], [{ bytes: png, contentType: 'image/png' }]]) {
      stub.script({ kind: 'images', images });
      await generate(noAbort(), { inputs }, { client: keyless });
      const { headers } = stub.requests.at(-1)!;
      expect(Object.keys(headers).sort()).toEqual([
        'accept',
        'accept-encoding',
        'connection',
        'content-length',
        'content-type',
        'host',
        'user-agent',
      ]);
      expect(headers['user-agent']).toBe('causeway');
    }
  });

  it('knows no key, never repeats itself, and has no time-out that could end before ours', async () => {
    const given = await client.call(
      async ({ apiKey, maxRetries, timeout }) => ({ apiKey, maxRetries, timeout }),
      noAbort(),
    );
    expect(given).toEqual({
      apiKey: expect.not.stringContaining('sk-'),
      maxRetries: 0,
      timeout: 2 ** 31 - 1,
    });
  });

  it('is read whatever type the upstream gives its JSON', async () => {
    const chunks = [JSON.stringify({ data: [{ b64_json: png.toString('base64') }] })];
    stub.script({ kind: 'raw', headers: { 'content-type': 'text/plain' }, chunks });
    expect(await generate()).toMatchObject({ contentType: 'image/png' });
  });
});

describe('an edit by an OpenAI-compatible upstream', () => {
  const inputs = [
    { bytes: png, contentType: 'image/png' },
    { bytes: jpeg, contentType: 'image/jpeg' },
    { bytes: webp, contentType: 'image/webp' },
  ];
  const prompt = 'Make the fox “red”; keep = & % \u{1F98A}';

  const lastForm = (): FormData => {
    const form = stub.requests.at(-1)?.body;
    if (!(form instanceof FormData)) throw new Error('the upstream got no form');
    return form;
  };

  it('is a form with the images in their order, and the same fields', async () => {
    stub.script({ kind: 'images', images: [{ b64_json: webp.toString('base64') }] });
    const image = await generate(noAbort(), { prompt, inputs });
    expect(image).toMatchObject({ contentType: 'image/webp' });
    expect(stub.requests.at(-1)).toMatchObject({
      method: 'POST',
      path: '/v1/images/edits',
      headers: { authorization: 'Bearer sk-upstream', 'content-length': expect.any(String) },
    });
    const { ['image[]']: _images, ...fields } = Object.fromEntries(lastForm());
    expect(fields).toEqual({ model: 'gpt-image-1', prompt, n: '1', size: '1536x1024' });
    const files = lastForm().getAll('image[]') as File[];
    expect(files.map(({ type, name }) => [type, name])).toEqual([
      ['image/png', 'image-1.png'],
      ['image/jpeg', 'image-2.jpeg'],
      ['image/webp', 'image-3.webp'],
    ]);
    for (const [index, file] of files.entries())
      expect(Buffer.from(await file.arrayBuffer()).equals(inputs[index]!.bytes)).toBe(true);
  });

  it('leaves the size to the upstream when it is to follow the input', async () => {
    stub.script(
      { kind: 'images', images: [{ b64_json: png.toString('base64') }] },
      { kind: 'images', images: [{ b64_json: png.toString('base64') }] },
    );
    await generate(noAbort(), { inputs, aspectRatio: 'auto' });
    expect(lastForm().get('size')).toBe('auto');
    await generate(noAbort(), { inputs, aspectRatio: 'auto', model: 'another-model' });
    expect(lastForm().has('size')).toBe(false);
  });

  it('is refused with the explanation of the content policy', async () => {
    stub.script(contentPolicyRefusal);
    expect(await rejectionOf(generate(noAbort(), { inputs }))).toMatchObject({
      code: 'content_policy_violation',
    });
  });

  it('is not asked for again when its answer is lost', async () => {
    stub.script({ kind: 'hang-up' });
    expect(await rejectionOf(generate(noAbort(), { inputs }))).toMatchObject({ failure: 'ambiguous' });
  });

  it('is given up when the caller aborts', async () => {
    stub.script({ kind: 'silence' });
    const controller = new AbortController();
    const reason = new Error('enough');
    const before = stub.requests.length;
    const generating = generate(controller.signal, { inputs });
    while (stub.requests.length === before) await stub.nextRequest();
    controller.abort(reason);
    expect(await rejectionOf(generating)).toBe(reason);
    await stub.requests.at(-1)?.closed;
  });
});

describe('the size of an image', () => {
  it.each([
    ['gpt-image-1', 'auto', 'auto'],
    ['gpt-image-1', '1:1', '1024x1024'],
    ['gpt-image-1', '9:16', '1024x1536'],
    ['dall-e-3', '21:9', '1792x1024'],
    ['dall-e-3', '3:4', '1024x1792'],
    ['dall-e-2', '16:9', '1024x1024'],
    ['some-other', 'auto', null],
    ['some-other', '2:3', '1024x1536'],
  ] as const)('of %s for %s is %s', (model, ratio, size) => {
    expect(upstreamSize(model, ratio)).toBe(size);
  });
});

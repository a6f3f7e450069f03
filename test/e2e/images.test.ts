import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { nanoPerUsd } from '../../src/kit/money.ts';
import { openAccount } from '../mcp/open-account.ts';
import { startS3Server } from '../media/s3-server.ts';
import { dataUri, makeBomb, makeImage, svg } from '../media/input-images.ts';
import { startHttp } from '../http/local-hosts.ts';
import { startStubUpstream, type StubUpstream } from '../providers/stub-upstream.ts';
import { connectAssistant, read, refusal, tool, type Body } from './account-calls.ts';
import { endMedia } from './end-media.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let upstream: StubUpstream;
let gateway: TestGateway;
/** The same with an account that buys real models. */
let selling: TestGateway;
let assistant: Client;
let red: Buffer;
let green: Buffer;

const imageModel = (provider: string): string =>
  `{ kind: image, price: { unit: call, price_usd: "0.04" }, routes: [{ provider: ${provider}, model: gpt-image-1 }] }`;

beforeAll(async () => {
  upstream = await startStubUpstream();
  gateway = await startTestGateway({
    environment: { ALLOW_LOOPBACK_URLS: 'true', REQUESTS_PER_MINUTE: '100000' },
    yaml: `
providers:
  up: { type: openai, base_url: "${upstream.baseUrl}" }
models:
  imagemodel-1.0: ${imageModel('sandbox')}
  upstream-image: ${imageModel('up')}
  textmodel-3.5-flash: { kind: chat, price: { unit: token, input_usd_per_1m: 1, output_usd_per_1m: 1 }, routes: [{ provider: sandbox }] }
`,
  });
  const amount = 1_000n * nanoPerUsd;
  selling = { ...gateway, apiKey: (await openAccount(gateway.services, { amount })).apiKey };
  gateway.apiKey = (await openAccount(gateway.services, { amount, isSandbox: true })).apiKey;
  assistant = await connectAssistant(gateway, gateway.apiKey);
  red = await makeImage('png', { width: 60, height: 40, colour: '#ff0000' });
  green = await makeImage('jpeg', { width: 60, height: 40, colour: '#00ff00' });
});

afterAll(async () => {
  await assistant.close();
  await gateway.stop();
  await upstream.close();
});

const path = '/v1/images/generations';
const plain = { model: 'imagemodel-1.0', prompt: 'a lighthouse at dusk' };

const post = (body: unknown, query = '', on = gateway): Promise<Response> =>
  on.call(path + query, { body, apiKey: on.apiKey });

const get = (address: string, on = gateway): Promise<Body> => read(on, address, on.apiKey);

const make = async (more: Body = {}, query = '', on = gateway): Promise<Body> => {
  const response = await post({ ...plain, ...more }, query, on);
  const job = (await response.json()) as Body;
  expect([response.status, job]).toEqual([
    query === '' ? 200 : 202,
    expect.objectContaining({ id: job['id'] }),
  ]);
  return job;
};

const untilEnd = async (id: unknown, on = gateway): Promise<Body> => {
  let job: Body = {};
  await expect
    .poll(async () => (job = await get(`/v1/jobs/${String(id)}`, on))['status'])
    .toMatch(/^(done|failed)$/);
  return job;
};

const urlOf = (job: Body): string => {
  expect(job).toMatchObject({ status: 'done', data: [{ url: expect.stringMatching(/^http/) }] });
  return (job['data'] as { url: string }[])[0]?.url ?? '';
};

const pictureOf = async (job: Body): Promise<Buffer> =>
  Buffer.from(await (await fetch(urlOf(job))).arrayBuffer());

/** What a part of a picture mostly is, given in hundredths of its sides. */
const colourOf = async (picture: Buffer, [from, to]: [number, number]): Promise<string> => {
  const { width, height } = await sharp(picture).metadata();
  const part = sharp(picture).extract({
    left: Math.round((from / 100) * width),
    top: Math.round(height * 0.3),
    width: Math.round(((to - from) / 100) * width),
    height: Math.round(height * 0.2),
  });
  const [r = 0, g = 0, b = 0] = (await sharp(await part.png().toBuffer()).stats()).channels.map(
    ({ mean }) => mean,
  );
  if (r > g + 60 && r > b + 60) return 'red';
  return g > r + 60 && g > b + 60 ? 'green' : `other (${[r, g, b].map(Math.round).join()})`;
};

const available = async (): Promise<string> => String((await get('/v1/balance'))['balance_usd']);

describe('an image from text', () => {
  it('is a done job with a picture behind a URL, the same whoever reads it and when', async () => {
    const made = await make({ custom_data: { order: 7 } });
    const url = urlOf(made);
    expect(made).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 'done',
      model: 'imagemodel-1.0',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      finished_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      custom_data: { order: 7 },
      data: [{ url, revised_prompt: null }],
      error: null,
      usage: { cost_usd: '0.04', balance_remaining_usd: await available() },
      metadata: { sandbox: true },
    });
    expect(await get(`/v1/jobs/${String(made['id'])}`)).toEqual(made);
    expect(await tool(assistant, 'get_job', { job_id: made['id'] })).toEqual(made);
    const picture = await sharp(await pictureOf(made)).metadata();
    expect([picture.format, picture.width, picture.height]).toEqual(['png', 1024, 1024]);
  });

  it.each(['auto', '4:3', '3:4', '16:9', '9:16', '2:3', '3:2', '1:1', '4:5', '5:4', '21:9'])(
    'has the ratio %s',
    async (ratio) => {
      const { width, height } = await sharp(await pictureOf(await make({ aspect_ratio: ratio }))).metadata();
      const [across = 1, down = 1] = (ratio === 'auto' ? '1:1' : ratio).split(':').map(Number);
      expect(width / height).toBeCloseTo(across / down, 1);
    },
  );

  it.each([
    ['1920x1080', 16 / 9],
    ['1024x1536', 2 / 3],
    ['auto', 1],
  ])('of the size %s has the ratio nearest to it', async (size, ratio) => {
    const { width, height } = await sharp(await pictureOf(await make({ size }))).metadata();
    expect(width / height).toBeCloseTo(ratio, 1);
  });

  it('takes every optional field as null, what it does not know, and no image as text alone', async () => {
    const nulls = {
      aspect_ratio: null,
      size: null,
      n: null,
      response_format: null,
      image: null,
      webhook_url: null,
    };
    for (const more of [
      nulls,
      { quality: 'hd', style: 5 },
      { image: '' },
      { image: [] },
      { n: 1, response_format: 'url' },
    ])
      expect(await make(more)).toMatchObject({ status: 'done', custom_data: {} });
  });

  it('is queued with 202 when asked for asynchronously, and ends by itself', async () => {
    const queued = await make({ custom_data: { a: [1, null] } }, '?async=true');
    expect(queued).toMatchObject({
      status: 'queued',
      data: [],
      error: null,
      finished_at: null,
      custom_data: { a: [1, null] },
    });
    expect(queued['usage']).toEqual({ balance_remaining_usd: expect.any(String) });
    const ended = await untilEnd(queued['id']);
    expect((await sharp(await pictureOf(ended)).metadata()).format).toBe('png');
    expect(ended).toMatchObject({
      id: queued['id'],
      created_at: queued['created_at'],
      usage: { cost_usd: '0.04' },
    });
  });

  it.each(['True', 'TRUE', '1', 'False', 'fAlse', '0'])('takes async=%s, in any case', async (text) => {
    const response = await post({ ...plain, stream: false }, `?async=${text}`);
    expect(response.status).toBe(/^(?:true|1)$/i.test(text) ? 202 : 200);
  });

  it('is made and charged also when its client has gone', async () => {
    const { apiKey } = await openAccount(gateway.services, { isSandbox: true });
    const leaving = new AbortController();
    const request = fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...plain, prompt: '[sandbox:slow=4] a harbour' }),
      signal: leaving.signal,
    });
    const newest = async (): Promise<Body | undefined> =>
      ((await read(gateway, '/v1/jobs', apiKey))['data'] as Body[])[0];
    await expect.poll(newest, { interval: 20 }).toMatchObject({ status: 'running' });
    leaving.abort();
    await expect(request).rejects.toThrow('aborted');
    await expect
      .poll(newest)
      .toMatchObject({ status: 'done', billing_status: 'charged', charged_usd: '0.04' });
  });

  it('that fails or is moderated says so in the job, has no data and costs nothing', async () => {
    const before = await available();
    const failed = await make({ prompt: 'x [sandbox:fail]' });
    const moderated = await make({ prompt: 'x [sandbox:moderated]' });
    expect(failed).toMatchObject({
      status: 'failed',
      data: [],
      error: { type: 'server_error', code: 'upstream_error' },
    });
    expect(moderated).toMatchObject({
      status: 'failed',
      data: [],
      error: {
        type: 'invalid_request_error',
        code: 'content_policy_violation',
        message: expect.stringContaining('refused'),
      },
    });
    expect(await available()).toBe(before);
  });
});

describe('an image that takes longer than the deadline', () => {
  it('is answered with 200 and the pending job, and goes on, over REST and MCP', async () => {
    const hasty = await startTestGateway({ environment: { IMAGE_DEADLINE_MS: '50' } });
    onTestFinished(() => hasty.stop());
    const slow = { ...plain, prompt: '[sandbox:slow=4] fog' };
    const overRest = await make(slow, '', hasty);
    const hastyAssistant = await connectAssistant(hasty, hasty.apiKey);
    const overMcp = await tool(hastyAssistant, 'create_image', slow);
    await hastyAssistant.close();
    for (const pending of [overRest, overMcp]) {
      const status = expect.stringMatching(/^(?:queued|running)$/);
      expect(pending).toMatchObject({ status, data: [], error: null, finished_at: null });
      expect(await untilEnd(pending['id'], hasty)).toMatchObject({
        status: 'done',
        usage: { cost_usd: '0.04' },
      });
    }
  });
});

describe('an edit', () => {
  it.each([
    ['a data URI', () => dataUri('image/png', red)],
    ['a list of one data URI', () => [dataUri('image/png', red)]],
  ])('of %s shows the given picture in its own shape', async (_what, image) => {
    const picture = await pictureOf(await make({ prompt: 'Make it warmer', image: image() }));
    const { width, height } = await sharp(picture).metadata();
    expect(width / height).toBeCloseTo(1.5, 1);
    expect(await colourOf(picture, [10, 90])).toBe('red');
  });

  it('of several inputs from a URL and a data URI shows all of them, in their order', async () => {
    const asked: (string | undefined)[] = [];
    const host = await startHttp((request, response) => {
      asked.push(request.headers.authorization, request.headers.host);
      response.writeHead(200, { 'content-type': 'image/jpeg' }).end(green);
    });
    const inputs = [`${host}/green.jpg`, dataUri('image/png', red)];
    const picture = await pictureOf(await make({ image: inputs, aspect_ratio: '16:9' }));
    expect([await colourOf(picture, [10, 40]), await colourOf(picture, [60, 90])]).toEqual(['green', 'red']);
    expect(asked).toEqual([undefined, new URL(host).host]);
  });

  it('over MCP shows the given picture, and links to the result', async () => {
    const result = await assistant.callTool({
      name: 'create_image',
      arguments: { ...plain, image: dataUri('image/jpeg', green) },
    });
    const job = result.structuredContent as Body;
    expect(await colourOf(await pictureOf(job), [10, 90])).toBe('green');
    expect(result.content).toContainEqual(
      expect.objectContaining({ type: 'resource_link', uri: urlOf(job), mimeType: 'image/png' }),
    );
  });

  it('that is queued is made of the copy that was taken when it was asked for', async () => {
    let asked = 0;
    const host = await startHttp((_request, response) => {
      asked += 1;
      response.writeHead(200, { 'content-type': 'image/png' }).end(red);
    });
    const queued = await make({ image: `${host}/red.png` }, '?async=true');
    expect(asked).toBe(1);
    expect(await colourOf(await pictureOf(await untilEnd(queued['id'])), [10, 90])).toBe('red');
    expect(asked).toBe(1);
  });

  it('deletes its inputs when it ends', async () => {
    const job = await make({ image: dataUri('image/png', red) });
    const media = await gateway.services.store.listMedia(String(job['id']));
    expect(media.map(({ role }) => role)).toEqual(['input', 'image']);
    const [input] = media;
    expect(input?.expiresAt).toBeLessThanOrEqual(Date.now());
    expect((await fetch(`${gateway.url}/results/${input?.id}.png`)).status).toBe(410);
  });
});

describe('an image request that cannot be served', () => {
  interface Other {
    query?: string;
    status?: number;
    code?: string;
  }
  const png = (bytes: Buffer): string => dataUri('image/png', bytes);
  const url = 'https://a.example/a.png';
  const model: Other = { status: 400, code: 'model_not_found' };
  const format: Other = { code: 'unsupported_response_format' };
  const later: Other = { query: '?async=true' };
  /** Name, fields, the `param` of the refusal; 422 `invalid_parameter` unless told. */
  const cases: [what: string, more: Body, param: string, other?: Other][] = [
    ['no model', { model: undefined }, 'model'],
    ['an empty model', { model: '' }, 'model'],
    ['a model of 129 characters', { model: 'm'.repeat(129) }, 'model'],
    ['an unknown model of 128 characters', { model: 'm'.repeat(128) }, 'model', model],
    ['a text model', { model: 'textmodel-3.5-flash' }, 'model', model],
    ['no prompt', { prompt: undefined }, 'prompt'],
    ['an empty prompt', { prompt: '' }, 'prompt'],
    ['a prompt of 262145 characters', { prompt: 'p'.repeat(262_145) }, 'prompt'],
    ['base64 answers', { response_format: 'b64_json' }, 'response_format', format],
    ['base64 with a callback', { response_format: 'b64_json', webhook_url: url }, 'response_format', format],
    ['an unknown answer format', { response_format: '' }, 'response_format', format],
    ['a number as answer format', { response_format: 5 }, 'response_format'],
    ['two images', { n: 2 }, 'n'],
    ['no images', { n: 0 }, 'n'],
    ['an unknown ratio', { aspect_ratio: '5:7' }, 'aspect_ratio'],
    ['a size in words', { size: 'large' }, 'size'],
    ['a size without width', { size: '0x100' }, 'size'],
    ['an async that is no boolean', {}, 'async', { query: '?async=maybe' }],
    ['an async that is another number', {}, 'async', { query: '?async=10' }],
    ['an empty async', {}, 'async', { query: '?async=' }],
    ['a stream', { stream: true }, 'stream'],
    ['a callback without async', { webhook_url: url }, 'webhook_url'],
    ['a callback at a private address', { webhook_url: 'https://10.0.0.1/' }, 'webhook_url', later],
    ['custom data that are a list', { custom_data: [] }, 'custom_data'],
    ['custom data that are a text', { custom_data: '{}' }, 'custom_data'],
    ['custom data that are null', { custom_data: null }, 'custom_data'],
    ['custom data of 4097 bytes', { custom_data: { a: 'y'.repeat(4_089) } }, 'custom_data'],
    ['as many in fewer characters', { custom_data: { a: `y${'é'.repeat(2_044)}` } }, 'custom_data'],
    ['an image that is a number', { image: 5 }, 'image'],
    ['an empty image in a list', { image: [''] }, 'image.0'],
    ['seventeen images', { image: Array.from({ length: 17 }, () => url) }, 'image'],
    ['an image by another scheme', { image: 'ftp://a.example/a.png' }, 'image'],
    ['an image of a private host', { image: 'https://10.0.0.1/a.png' }, 'image'],
    ['an image of a cloud’s metadata', { image: ['https://169.254.169.254/latest'] }, 'image.0'],
    ['an image on another port of a private host', { image: 'https://10.0.0.1:8443/a.png' }, 'image'],
    ['an image behind a password', { image: 'https://me:secret@a.example/a.png' }, 'image'],
    ['an image that is no base64', { image: 'data:image/png;base64,%%%' }, 'image'],
    ['a drawing', { image: dataUri('image/svg+xml', svg) }, 'image'],
    ['an image of far too many pixels', { image: png(makeBomb(30_000, 30_000)) }, 'image'],
    ['an image that is cut off', { image: png(makeBomb(100, 100, 50)) }, 'image'],
  ];

  it.each(cases)('with %s is refused by name', async (_what, more, param, other = {}) => {
    const { query = '', status = 422, code = 'invalid_parameter' } = other;
    const response = await post({ ...plain, ...more }, query);
    expect(await refusal(response)).toEqual({ status, code, param });
  });

  it('does not become asynchronous by its body over REST', async () => {
    const response = await post({ ...plain, webhook_url: url, async: true });
    expect(await refusal(response)).toMatchObject({ status: 422, param: 'webhook_url' });
  });

  it('is refused over MCP with the same words, but for the names of tools', async () => {
    for (const [, more, , { query } = {}] of cases) {
      const body = { ...plain, ...more };
      // A tool takes the default model for a call without one.
      if (query !== undefined || body.model === undefined) continue;
      const overRest = (await (await post(body)).text()).replace('GET /v1/models', 'list_models');
      expect(await tool(assistant, 'create_image', body)).toEqual(JSON.parse(overRest));
    }
  });

  it('names the image of a list that is wrong, keeps none of the others, and takes no money', async () => {
    const before = await available();
    const image = [dataUri('image/png', red), dataUri('image/jpeg', red), dataUri('image/png', red)];
    const response = await post({ ...plain, image });
    expect(await refusal(response)).toEqual({ status: 422, code: 'invalid_parameter', param: 'image.1' });
    expect(await available()).toBe(before);
  });

  it('is refused for its price before anybody is asked for an image', async () => {
    let asked = 0;
    const host = await startHttp((_request, response) => {
      asked += 1;
      response.end();
    });
    const { apiKey } = await openAccount(gateway.services, { amount: nanoPerUsd / 100n, isSandbox: true });
    for (const image of [undefined, `${host}/a.png`]) {
      const response = await gateway.call(path, { body: { ...plain, image }, apiKey });
      expect(await response.json()).toMatchObject({
        error: { type: 'insufficient_quota', code: 'insufficient_balance' },
      });
      expect(response.status).toBe(402);
    }
    expect(asked).toBe(0);
  });
});

describe('the limits of a request', () => {
  it('let the longest prompt and the largest custom data in', async () => {
    const custom_data = { a: 'y'.repeat(4_088) };
    expect(Buffer.byteLength(JSON.stringify(custom_data))).toBe(4_096);
    const job = await make({ prompt: 'p'.repeat(262_144), custom_data });
    expect(job).toMatchObject({ status: 'done', custom_data });
  });

  it('give custom data back unchanged, whatever its members are called', async () => {
    const text =
      '{"__proto__":{"a":1},"constructor":[1.5e-7,"\\u0000",null,{}],"":true,"z":"Zoë 🎨","a":-0.1}';
    const response = await post(`{"model":"imagemodel-1.0","prompt":"x","custom_data":${text}}`);
    expect(await response.text()).toContain(`"custom_data":${JSON.stringify(JSON.parse(text))}`);
  });

  const verbatim =
    '{"b": 1.0, "2":12345678901234567890, "1":[-0, 1e2, 1E400], "a":"\\u00e9 \\"}", "a":"ü", "n":{"x":0.10}}';

  it.each(['', '?async=true'])(
    'give custom data back as the same text wherever a job is read%s',
    async (query) => {
      const headers = { 'idempotency-key': `verbatim${query}` };
      const create = async (data: string): Promise<Response> =>
        gateway.call(path + query, {
          body: `{"custom_data":{"not":"this"},"model":"imagemodel-1.0","prompt":"\\"custom_data\\":{}","image":[],"custom\\u005fdata" : ${data} }`,
          headers,
          apiKey: gateway.apiKey,
        });
      const created = await (await create(verbatim)).text();
      expect(created).toContain(`"custom_data":${verbatim},`);
      const { id } = JSON.parse(created) as { id: string };
      await untilEnd(id);
      expect(await (await gateway.call(`/v1/jobs/${id}`, { apiKey: gateway.apiKey })).text()).toContain(
        `"custom_data":${verbatim},`,
      );
      const replayed = await create(verbatim);
      expect(replayed.headers.get('idempotent-replayed')).toBe('true');
      expect(await replayed.text()).toContain(`"custom_data":${verbatim},`);
      // The same double, another number.
      expect((await create(verbatim.replace('67890', '67891'))).status).toBe(409);

      const read = await assistant.callTool({ name: 'get_job', arguments: { job_id: id } });
      expect((read.content as { text: string }[])[0]?.text).toContain(`"custom_data":${verbatim},`);
      const { contents } = await assistant.readResource({ uri: `causeway://jobs/${id}` });
      expect(contents).toMatchObject([{ text: expect.stringContaining(`"custom_data":${verbatim},`) }]);
    },
  );

  it('give custom data back to a tool with the same numbers in its structured content', async () => {
    const { id } = (await (
      await post(`{"model":"imagemodel-1.0","prompt":"x","custom_data":${verbatim}}`)
    ).json()) as Body;
    const answer = await gateway.call('/mcp', {
      apiKey: gateway.apiKey,
      headers: { accept: 'application/json, text/event-stream' },
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'get_job', arguments: { job_id: id } },
      },
    });
    expect(await answer.text()).toContain(
      '"custom_data":{"1":[-0,1e2,1E400],"2":12345678901234567890,"b":1.0,"a":"ü","n":{"x":0.10}}',
    );
  });

  it('refuse custom data of a tool with a number that has lost digits on its way', async () => {
    const answer = await tool(assistant, 'create_image', {
      ...plain,
      custom_data: { orders: [{ id: 2 ** 53 }] },
    });
    expect(answer).toMatchObject({ error: { code: 'invalid_parameter', param: 'custom_data' } });
    const taken = { order: 2 ** 53 - 1, share: 0.1 };
    expect(await tool(assistant, 'create_image', { ...plain, custom_data: taken })).toMatchObject({
      custom_data: taken,
    });
  });
});

describe('a result URL', () => {
  it('needs no key, says what it is and how long it lasts, and is gone after its time while the job is not', async () => {
    const job = await make();
    const url = urlOf(job);
    const name = /\/results\/([0-9A-Za-z]{43})\.png$/.exec(url);
    const response = await fetch(url);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'cache-control': 'public, max-age=86400, immutable',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'",
    });
    expect(Number(response.headers.get('content-length'))).toBe((await response.arrayBuffer()).byteLength);
    expect((await fetch(url.replace('.png', '.jpg'))).status).toBe(404);

    endMedia(gateway, [name?.[1] ?? '']);
    const gone = await fetch(url);
    expect([gone.status, await gone.json()]).toEqual([
      410,
      { error: expect.objectContaining({ type: 'invalid_request_error', code: 'content_expired' }) },
    ]);
    expect(await get(`/v1/jobs/${String(job['id'])}`)).toMatchObject({ status: 'done', data: [{ url }] });
  });
});

describe('an OpenAI-compatible upstream', () => {
  const answer = async (revised?: string): Promise<Buffer> => {
    const bytes = await makeImage('webp', { colour: '#123456' });
    const image = {
      b64_json: bytes.toString('base64'),
      ...(revised === undefined ? {} : { revised_prompt: revised }),
    };
    upstream.script({ kind: 'images', images: [image] });
    return bytes;
  };

  it('draws by images.generate, and its picture is served as it is', async () => {
    const bytes = await answer('a tall lighthouse');
    const job = await make(
      { model: 'upstream-image', size: '1500x1000', custom_data: { private: true } },
      '',
      selling,
    );
    expect(upstream.requests.at(-1)).toMatchObject({ method: 'POST', path: '/v1/images/generations' });
    expect(upstream.requests.at(-1)?.body).toEqual({
      model: 'gpt-image-1',
      prompt: plain.prompt,
      n: 1,
      size: '1536x1024',
    });
    expect(job).toMatchObject({ model: 'upstream-image', data: [{ revised_prompt: 'a tall lighthouse' }] });
    expect(job).not.toHaveProperty('metadata');
    const served = await fetch(urlOf(job));
    expect(served.headers.get('content-type')).toBe('image/webp');
    expect(Buffer.from(await served.arrayBuffer()).equals(bytes)).toBe(true);
  });

  it('edits by images.edit, and gets the bytes of the images and never their addresses', async () => {
    const host = await startHttp((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/jpeg' }).end(green);
    });
    await answer();
    await make(
      { model: 'upstream-image', image: [dataUri('image/png', red), `${host}/green.jpg`] },
      '',
      selling,
    );
    const request = upstream.requests.at(-1);
    expect(request).toMatchObject({ method: 'POST', path: '/v1/images/edits' });
    const form = request?.body as FormData;
    expect([form.get('model'), form.get('prompt'), form.get('n')]).toEqual([
      'gpt-image-1',
      plain.prompt,
      '1',
    ]);
    const files = await Promise.all(
      (form.getAll('image[]') as File[]).map(async (file) => Buffer.from(await file.arrayBuffer())),
    );
    expect(files.map((file) => file.toString('base64'))).toEqual(
      [red, green].map((file) => file.toString('base64')),
    );
  });

  it('gets a GIF and an AVIF as PNG and JPEG, which all upstreams take, over REST and MCP', async () => {
    const avif = await makeImage('avif');
    const host = await startHttp((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/avif' }).end(avif);
    });
    const body = {
      model: 'upstream-image',
      image: [dataUri('image/gif', await makeImage('gif')), `${host}/a.avif`],
    };
    const sentTypes = (): string[] => {
      const form = upstream.requests.at(-1)?.body;
      return form instanceof FormData ? (form.getAll('image[]') as File[]).map(({ type }) => type) : [];
    };
    await answer();
    expect(await make(body, '', selling)).toMatchObject({ status: 'done' });
    expect(sentTypes()).toEqual(['image/png', 'image/jpeg']);
    const before = upstream.requests.length;
    await answer();
    const buyer = await connectAssistant(selling, selling.apiKey);
    onTestFinished(() => buyer.close());
    const result = await buyer.callTool({ name: 'create_image', arguments: { ...plain, ...body } });
    expect(result.structuredContent).toMatchObject({ status: 'done' });
    expect(upstream.requests.length).toBeGreaterThan(before);
    expect(sentTypes()).toEqual(['image/png', 'image/jpeg']);
  });

  it('that fails ends the job uncharged, in our own words', async () => {
    const before = await available();
    upstream.script({ kind: 'error', status: 400, message: 'secret upstream text' });
    const job = await make({ model: 'upstream-image' }, '', selling);
    expect(job).toMatchObject({ status: 'failed', data: [], error: { code: expect.any(String) } });
    expect(JSON.stringify(job)).not.toContain('secret upstream text');
    expect(await available()).toBe(before);
  });
});

describe('media in a bucket', () => {
  it('are made, served and swept through the whole gateway', async () => {
    const s3 = await startS3Server();
    onTestFinished(() => s3.stop());
    const dataDir = await mkdtemp(join(tmpdir(), 'causeway-images-'));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const environment = {
      DATA_DIR: dataDir,
      MEDIA_URL: `s3://${s3.config.bucket}/${s3.config.prefix.replace(/\/$/, '')}`,
      S3_ENDPOINT: s3.config.endpoint,
      S3_REGION: s3.config.region,
      S3_ACCESS_KEY_ID: s3.config.accessKeyId,
      S3_SECRET_ACCESS_KEY: s3.config.secretAccessKey,
    };
    const first = await startTestGateway({ environment });
    const mediaIn = async (): Promise<string[]> =>
      (await s3.contents()).filter((name) => !name.includes('used-since'));
    const making = make({ prompt: '[sandbox:slow=4]', image: dataUri('image/png', red) }, '', first);
    await expect.poll(mediaIn).toHaveLength(1);
    const [input] = /[0-9A-Za-z]{43}/.exec(String(await mediaIn())) ?? [];
    // A fault of the bucket is not a wrong address. The input is known a moment after its bytes are there.
    s3.intercept = ({ method }, response) => {
      if (method === 'HEAD') response.writeHead(400).end();
      return method === 'HEAD';
    };
    const statusOf = async (): Promise<number> => (await fetch(`${first.url}/results/${input}.png`)).status;
    await expect.poll(statusOf).toBe(500);
    s3.intercept = () => false;
    const job = await making;
    expect(await colourOf(await pictureOf(job), [10, 90])).toBe('red');
    const media = await first.services.store.listMedia(String(job['id']));
    expect(await mediaIn()).toHaveLength(2);
    endMedia(
      first,
      media.map(({ id }) => id),
    );
    expect((await fetch(urlOf(job))).status).toBe(410);
    await first.stop();

    // A start sweeps at once.
    const second = await startTestGateway({ environment });
    onTestFinished(() => second.stop());
    await expect.poll(mediaIn).toEqual([]);
    expect(s3.falseBodies).toEqual([]);
    const gone = await fetch(urlOf(job).replace(first.url, second.url));
    expect(gone.status).toBe(410);
  });
});

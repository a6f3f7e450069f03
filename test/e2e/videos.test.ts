import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { measureVideo } from '../../src/providers/video/measure-video.ts';
import { dataUri, makeImage } from '../media/input-images.ts';
import { listenOnLoopback } from '../mcp/listen-on-loopback.ts';
import { openAccount } from '../mcp/open-account.ts';
import { readClip } from '../providers/video/read-clip.ts';
import { connectAssistant, openCustomer, page, read, refusal, tool, type Body } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const film = { model: 'videomodel-2.0', prompt: 'A harbour at dawn', duration: 4, resolution: '480p' };
/** Fails at no cost, so that a test of the request alone makes no film. */
const unmade = { ...film, prompt: '[sandbox:fail]' };

/** A sound of one second. */
const wave = Buffer.concat([
  Buffer.from(
    '524946462C1F000057415645666D74201000000001000100401F0000401F00000100080064617461001F0000',
    'hex',
  ),
  Buffer.alloc(8_000, 0x80),
]);

let gateway: TestGateway;
/** Of the account whose film the tests look at. */
let apiKey: string;
let made: Body;
let clip: string;

beforeAll(async () => {
  gateway = await startTestGateway({
    environment: { ALLOW_LOOPBACK_URLS: 'true', REQUESTS_PER_MINUTE: '100000' },
  });
  ({ apiKey } = await openCustomer(gateway));
  clip = dataUri('video/mp4', await readClip('longer.mp4'));
  made = await whenEnded(await create({ ...film, return_last_frame: true }));
});
afterAll(() => gateway.stop());

const post = (body: object, options: { apiKey?: string; headers?: Record<string, string> } = {}) =>
  gateway.call('/v1/videos', { apiKey, body, ...options });

const create = async (body: object, key = apiKey): Promise<Body> => {
  const answer = await post(body, { apiKey: key });
  const video = (await answer.json()) as Body;
  if (answer.status !== 202) throw new Error(JSON.stringify(video));
  return video;
};

const whenEnded = ({ id }: Body, key = apiKey): Promise<Body> =>
  vi.waitFor(
    async () => {
      const video = await read(gateway, `/v1/videos/${String(id)}`, key);
      expect(video['status']).toMatch(/completed|failed/);
      return video;
    },
    { timeout: 60_000, interval: 100 },
  );

const content = (
  video: Body,
  { headers = {}, query = '', key = apiKey, method = 'GET' }: ContentCall = {},
): Promise<Response> =>
  gateway.call(`/v1/videos/${String(video['id'])}/content${query}`, { apiKey: key, headers, method });

interface ContentCall {
  headers?: Record<string, string>;
  query?: string;
  key?: string | null;
  method?: string;
}

const bytesOf = async (answer: Response): Promise<Buffer> => Buffer.from(await answer.arrayBuffer());
const historyOf = async (video: Body, key = apiKey): Promise<Body | undefined> =>
  (await page(gateway, '/v1/jobs', key)).data.find(({ id }) => id === video['id']);

describe('a video', () => {
  it('is admitted under a hold, told of until it is completed, and charged then', async () => {
    const customer = await openCustomer(gateway);
    const answer = await post(
      { ...film, prompt: 'A harbour [sandbox:slow=1]', seed: 7, ratio: '1:1', generate_audio: false },
      { apiKey: customer.apiKey },
    );
    expect(answer.status).toBe(202);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const queued = (await answer.json()) as Body;
    const shape = {
      object: 'video',
      model: 'videomodel-2.0',
      duration: 4,
      resolution: '480p',
      ratio: '1:1',
      generate_audio: false,
      output_format: 'mp4',
      has_last_frame: false,
      error: null,
    };
    expect(queued).toEqual({
      ...shape,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 'queued',
      progress: 0,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      completed_at: null,
      expires_at: null,
      film_url: null,
      usage: { billed_seconds: 4, balance_remaining_usd: '9.92' },
    });
    expect(await historyOf(queued, customer.apiKey)).toMatchObject({
      kind: 'video',
      billing_status: 'pending',
      charged_usd: '0.00',
    });
    const video = await whenEnded(queued, customer.apiKey);
    expect(video).toMatchObject({
      ...shape,
      status: 'completed',
      progress: 100,
      usage: { cost_usd: '0.08', billed_seconds: 4, balance_remaining_usd: '9.92' },
      metadata: { sandbox: true },
    });
    const [completedAt, expiresAt] = [video['completed_at'], video['expires_at']].map(String);
    expect(Date.parse(expiresAt ?? '') - Date.parse(completedAt ?? '')).toBe(23 * 3_600_000);
    expect(await historyOf(video, customer.apiKey)).toMatchObject({
      status: 'done',
      billing_status: 'charged',
      charged_usd: '0.08',
      net_spent_usd: '0.08',
      error: null,
    });
    expect(await read(gateway, `/v1/jobs/${String(video['id'])}`, customer.apiKey)).toMatchObject({
      status: 'done',
      model: 'videomodel-2.0',
    });
    expect(await page(gateway, '/v1/transactions', customer.apiKey)).toMatchObject({
      data: [{ type: 'debit', amount_usd: '-0.08', job_id: video['id'] }, { type: 'topup' }],
    });
  });

  it('is made over MCP from images by address and by data URI, and waited for with progress', async () => {
    const blue = await makeImage('jpeg', { width: 30, height: 40, colour: '#0000ff' });
    const site = await listenOnLoopback(createServer((_request, response) => response.end(blue)));
    onTestFinished(() => site.close());
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    const queued = await tool(assistant, 'create_video', {
      ...film,
      prompt: 'A harbour [sandbox:slow=6]',
      image_url: `${site.url}/first.jpg`,
      last_frame_image_url: dataUri('image/png', await makeImage('png')),
      output_format: 'mov',
    });
    expect(queued).toMatchObject({ status: 'queued', ratio: 'adaptive', output_format: 'mov' });
    const heard: string[] = [];
    const ended = await assistant.callTool(
      { name: 'get_video', arguments: { video_id: queued['id'], wait_ms: 45_000 } },
      undefined,
      { onprogress: ({ message }) => heard.push(message ?? '') },
    );
    expect(heard).toContainEqual(expect.stringContaining(String(queued['id'])));
    const url = `${gateway.url}/v1/videos/${String(queued['id'])}/content`;
    expect(ended).toMatchObject({
      structuredContent: { status: 'completed', has_last_frame: false },
      content: [
        { type: 'text' },
        {
          type: 'resource_link',
          uri: gateway.services.films.urlOf(String(queued['id'])),
          mimeType: 'video/quicktime',
        },
      ],
    });
    const where = await tool(assistant, 'get_video_content', { video_id: queued['id'] });
    expect(where).toMatchObject({ url, content_type: 'video/quicktime' });
    const answer = await content(queued);
    expect(answer.headers.get('content-type')).toBe('video/quicktime');
    expect(answer.headers.get('content-disposition')).toContain('.mov"');
    const bytes = await bytesOf(answer);
    expect(bytes.length).toBe(where['size_bytes']);
    expect(await measureVideo(bytes)).toEqual({ seconds: 4, width: 480, height: 640 });
    expect(await refusal(await content(queued, { query: '?variant=last_frame' }))).toMatchObject({
      status: 404,
      code: 'video_not_found',
    });
  });

  it('has the custom data as the text that was sent, wherever it is read', async () => {
    const data = '{"b": 1.0, "2":12345678901234567890, "1":[], "b":"ü", "c":2.50}';
    const send = (text: string) =>
      gateway.call('/v1/videos', {
        apiKey,
        headers: { 'idempotency-key': 'custom' },
        body: `${JSON.stringify(unmade).slice(0, -1)},"custom_data":${text}}`,
      });
    const created = await (await send(data)).text();
    const { id } = JSON.parse(created) as Body;
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    const overMcp = await assistant.callTool({ name: 'get_video', arguments: { video_id: id } });
    for (const text of [
      created,
      await (await send(data)).text(),
      await (await gateway.call(`/v1/videos/${String(id)}`, { apiKey })).text(),
      await (await gateway.call(`/v1/jobs/${String(id)}`, { apiKey })).text(),
      (overMcp.content as { text: string }[])[0]?.text,
    ])
      expect(text).toContain(`"custom_data":${data},`);
    expect((await send('{"b":2}')).status).toBe(409);
    expect((await send(data.replace('2.50', '2.5'))).headers.get('idempotent-replayed')).toBe('true');
    expect((await send(data.replace('567890', '567891'))).status).toBe(409);
    expect((await send(data.replace('2.50', '{"rawJSON":"2.50"}'))).status).toBe(409);
    for (const refused of ['[]', '"{}"', 'null', `{"a":"${'y'.repeat(4_089)}"}`])
      expect(await refusal(await send(refused))).toEqual({
        status: 422,
        code: 'invalid_parameter',
        param: 'custom_data',
      });
    const sent = { order: 7 };
    expect(await tool(assistant, 'create_video', { ...unmade, custom_data: sent })).toMatchObject({
      custom_data: sent,
    });
    expect(await tool(assistant, 'create_video', { ...unmade, custom_data: [] })).toMatchObject({
      error: { param: 'custom_data' },
    });
  });

  it.each([
    ['[sandbox:moderated]', 'content_policy_violation', 'The sandbox refused this prompt'],
    ['[sandbox:fail]', 'upstream_error', 'It was not charged.'],
    ['[sandbox:rate_limit]', 'rate_limit_exceeded', 'Nothing was charged.'],
  ])('with %s fails with %s, at no charge', async (prompt, code, text) => {
    const customer = await openCustomer(gateway);
    const queued = await create({ ...film, prompt, nsfw_check: true }, customer.apiKey);
    expect(await whenEnded(queued, customer.apiKey)).toMatchObject({
      status: 'failed',
      completed_at: null,
      expires_at: null,
      error: { code, message: expect.stringContaining(text) },
      usage: { cost_usd: '0.00', balance_remaining_usd: '10.00' },
    });
    expect(await historyOf(queued, customer.apiKey)).toMatchObject({
      billing_status: 'not_charged',
      error: { code },
    });
    expect(await refusal(await content(queued, { key: customer.apiKey }))).toMatchObject({
      status: 409,
      code: 'video_not_completed',
    });
  });

  it('is one of five that an account may have under way, and has no content until it is completed', async () => {
    const customer = await openCustomer(gateway);
    const stalled = { ...film, prompt: '[sandbox:stall]' };
    const answers = await Promise.all(
      Array.from({ length: 7 }, () => post(stalled, { apiKey: customer.apiKey })),
    );
    const [admitted, refused] = [202, 429].map((status) =>
      answers.filter((answer) => answer.status === status),
    );
    expect([admitted?.length, refused?.length]).toEqual([5, 2]);
    for (const answer of refused ?? []) {
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await answer.json()).toMatchObject({
        error: { type: 'rate_limit_exceeded', code: 'too_many_active_jobs' },
      });
    }
    expect(await read(gateway, '/v1/balance', customer.apiKey)).toMatchObject({ balance_usd: '9.60' });
    const early = await content((await admitted?.[0]?.json()) as Body, { key: customer.apiKey });
    expect(early.headers.get('x-should-retry')).toBe('false');
    expect(await refusal(early)).toMatchObject({ status: 409, code: 'video_not_completed' });
    expect((await create(unmade))['status']).toBe('queued');
  });
});

describe('the same request under one Idempotency-Key', () => {
  it('is answered with its video though the account’s SKUs have changed since', async () => {
    const { accountId, apiKey: key } = await openCustomer(gateway);
    const headers = { 'idempotency-key': 'film-1' };
    const { id } = (await (await post(unmade, { apiKey: key, headers })).json()) as Body;
    await gateway.services.store.setAccountTerms({
      id: accountId,
      terms: JSON.stringify({ models: ['imagemodel-1.0'] }),
    });
    expect(await refusal(await post(unmade, { apiKey: key }))).toMatchObject({ code: 'model_not_found' });
    expect(await (await post(unmade, { apiKey: key, headers })).json()).toMatchObject({ id });
  });

  it('is one video, also when it has failed, over REST and over MCP, and another one is refused', async () => {
    const headers = { 'idempotency-key': 'film-1' };
    const first = await post(unmade, { headers });
    expect(first.headers.has('idempotent-replayed')).toBe(false);
    const { id } = (await first.json()) as Body;
    expect(await whenEnded({ id })).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } });
    const again = await post(unmade, { headers });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true']);
    expect(await again.json()).toMatchObject({ id });
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    expect(await tool(assistant, 'create_video', { ...unmade, idempotency_key: 'film-1' })).toMatchObject({
      id,
    });
    const other = await post({ ...unmade, duration: 99 }, { headers });
    expect(other.headers.get('x-should-retry')).toBe('false');
    expect(await refusal(other)).toMatchObject({ status: 409, code: 'idempotency_conflict' });
  });
});

describe('the content of a completed video', () => {
  it('is a film of the asked length and size, with all that a player wants to know', async () => {
    const answer = await content(made);
    expect(answer.status).toBe(200);
    const bytes = await bytesOf(answer);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'video/mp4',
      'content-length': String(bytes.length),
      'accept-ranges': 'bytes',
      'content-disposition': `attachment; filename="${String(made['id'])}.mp4"`,
      'x-content-type-options': 'nosniff',
      'cache-control': 'private',
      etag: expect.stringMatching(/^"\w+"$/),
    });
    expect(await measureVideo(bytes)).toEqual({ seconds: 4, width: 854, height: 480 });
  });

  it('is answered in one part, and only while it is the same content', async () => {
    const whole = await content(made);
    const bytes = await bytesOf(whole);
    const etag = whole.headers.get('etag') ?? '';
    const range = 'bytes=100-199';
    const part = await content(made, { headers: { range } });
    expect(part.status).toBe(206);
    expect(part.headers.get('content-range')).toBe(`bytes 100-199/${bytes.length}`);
    expect((await bytesOf(part)).equals(bytes.subarray(100, 200))).toBe(true);
    expect((await content(made, { headers: { range, 'if-range': etag } })).status).toBe(206);
    expect((await content(made, { headers: { range, 'if-range': '"another"' } })).status).toBe(200);
    for (const wrong of ['bytes=0-1,5-6', `bytes=${bytes.length}-`]) {
      const refused = await content(made, { headers: { range: wrong } });
      expect(refused.headers.get('content-range')).toBe(`bytes */${bytes.length}`);
      expect(await refusal(refused)).toMatchObject({ status: 416, code: 'range_not_satisfiable' });
    }
    const head = await content(made, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      String(bytes.length),
      '',
    ]);
  });

  it('has the last frame beside it', async () => {
    expect(made).toMatchObject({ has_last_frame: true });
    const answer = await content(made, { query: '?variant=last_frame' });
    expect(answer.headers.get('content-type')).toBe('image/png');
    expect(await sharp(await bytesOf(answer)).metadata()).toMatchObject({ width: 854, height: 480 });
    expect(await refusal(await content(made, { query: '?variant=first_frame' }))).toEqual({
      status: 422,
      code: 'invalid_parameter',
      param: 'variant',
    });
  });

  it('is there for its account only, as is the video itself', async () => {
    const other = await openCustomer(gateway);
    for (const [video, key] of [
      [made, other.apiKey],
      [{ id: crypto.randomUUID() }, apiKey],
      [{ id: 'nothing' }, apiKey],
    ] as const) {
      expect(await refusal(await content(video, { key }))).toMatchObject({
        status: 404,
        code: 'video_not_found',
      });
      const path = `/v1/videos/${String(video['id'])}`;
      expect(await refusal(await gateway.call(path, { apiKey: key }))).toMatchObject({
        status: 404,
        code: 'video_not_found',
      });
    }
    for (const key of [null, 'sk_causeway_wrong'])
      expect(await refusal(await content(made, { key }))).toMatchObject({
        status: 401,
        code: 'invalid_api_key',
      });
  });
});

describe('a request for a video', () => {
  it('takes its defaults from what it has', async () => {
    expect(await create({ model: 'videomodel-2.0', prompt: '[sandbox:fail]' })).toMatchObject({
      duration: 5,
      resolution: '720p',
      ratio: '16:9',
      generate_audio: true,
      output_format: 'mp4',
      usage: { billed_seconds: 5 },
    });
    const image = dataUri('image/png', await makeImage('png'));
    const withImage = { ...unmade, reference_image_urls: [image] };
    expect(await create(withImage)).toMatchObject({ ratio: 'adaptive' });
    expect(await create({ ...withImage, aspect_ratio: '9:16' })).toMatchObject({ ratio: '9:16' });
    expect(await create({ ...unmade, ratio: '4:3', aspect_ratio: '4:3' })).toMatchObject({ ratio: '4:3' });
    const inParts = {
      model: 'videomodel-2.5',
      duration: 30,
      content: [
        { type: 'text', text: 'A harbour [sandbox:fail]' },
        { type: 'image_url', image_url: { url: image }, role: 'last_frame' },
      ],
    };
    expect(await create(inParts)).toMatchObject({ duration: 30, ratio: 'adaptive' });
  });

  it('is priced by the measured length of its reference videos', async () => {
    const withClip = (more: object) =>
      create({ ...unmade, content: [{ type: 'video_url', video_url: { url: clip } }], ...more });
    const before = await openAccount(gateway.services);
    const priced = await post(
      { ...unmade, content: [{ type: 'video_url', video_url: { url: clip } }] },
      { apiKey: before.apiKey },
    );
    // 4.5 s rounded up and 4 s of output, at $0.012.
    expect(await priced.json()).toMatchObject({
      ratio: 'adaptive',
      usage: { billed_seconds: 9, balance_remaining_usd: '9.892' },
    });
    // At least 5/3 of 15 s.
    expect(await withClip({ duration: 15 })).toMatchObject({ usage: { billed_seconds: 25 } });
    const edit = { model: 'videomodel-2.5', duration: -1, generate_audio: true };
    expect(await withClip(edit)).toMatchObject({
      duration: 5,
      ratio: 'adaptive',
      usage: { billed_seconds: 5 },
    });
    expect(await refusal(await post({ ...edit, content: [{ type: 'text', text: 'Night' }] }))).toMatchObject({
      status: 422,
      param: 'duration',
    });
    const twice = [1, 2].map(() => ({ type: 'video_url', video_url: { url: clip } }));
    expect(await withClip({ content: twice, duration: 6 })).toMatchObject({ usage: { billed_seconds: 15 } });
  });

  it('is priced, limited and refused by the terms of its account, before anything is fetched', async () => {
    const { accountId, apiKey: key } = await openCustomer(gateway);
    const terms = {
      active_videos: 1,
      prices: {
        'videomodel-2.0': { unit: 'second', rates: [{ resolution: '480p', price_usd: '0.005' }] },
      },
    };
    await gateway.services.store.setAccountTerms({ id: accountId, terms: JSON.stringify(terms) });
    const nowhere = 'https://nowhere.invalid/file';
    for (const changes of [
      { resolution: '1080p', image_url: nowhere },
      { content: [{ type: 'video_url', video_url: { url: nowhere } }] },
    ])
      expect(await refusal(await post({ ...film, ...changes }, { apiKey: key }))).toEqual({
        status: 422,
        code: 'invalid_parameter',
        param: 'resolution',
      });
    const stalled = { ...film, prompt: '[sandbox:stall]' };
    expect(await create(stalled, key)).toMatchObject({ usage: { balance_remaining_usd: '9.98' } });
    expect((await post(stalled, { apiKey: key })).status).toBe(429);
    const fromNowhere = { ...film, image_url: nowhere };
    expect((await post(fromNowhere, { apiKey: key })).status).toBe(429);
  });

  it('takes videos, sounds and images of all roles, by address and in the request', async () => {
    const bytes = await readClip('plain.mp4');
    const site = await listenOnLoopback(
      createServer((_request, response) => response.setHeader('content-type', 'video/mp4').end(bytes)),
    );
    onTestFinished(() => site.close());
    const image = { url: dataUri('image/png', await makeImage('png')) };
    const all = {
      ...unmade,
      content: [
        { type: 'text', text: 'A harbour' },
        { type: 'video_url', video_url: { url: `${site.url}/clip.mp4` }, role: 'reference_video' },
        { type: 'audio_url', audio_url: { url: dataUri('audio/wav', wave) }, role: 'reference_audio' },
        { type: 'image_url', image_url: image, role: 'reference_image' },
        { type: 'image_url', image_url: image },
        { type: 'image_url', image_url: image, role: 'last_frame' },
      ],
    };
    // One second and four are fewer than 5/3 of four.
    expect(await create(all)).toMatchObject({ ratio: 'adaptive', usage: { billed_seconds: 7 } });
    const misnamed = { type: 'video_url', video_url: { url: dataUri('video/mp4', wave) } };
    expect(await refusal(await post({ ...unmade, content: [misnamed] }))).toMatchObject({
      status: 422,
      param: 'content.0',
    });
  });

  it('for an edit of a clip that is too short for it is refused', async () => {
    const short = dataUri('video/mp4', await readClip('plain.mp4'));
    const body = {
      model: 'videomodel-2.5',
      prompt: 'Night',
      duration: -1,
      content: [{ type: 'video_url', video_url: { url: short } }],
    };
    expect(await refusal(await post(body))).toEqual({
      status: 422,
      code: 'invalid_parameter',
      param: 'content',
    });
  });

  const audio = { type: 'audio_url', audio_url: { url: 'data:audio/wav;base64,AAAA' } };
  const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
  it.each([
    ['model', { model: undefined }],
    ['model', { model: '' }],
    ['model', { model: 'm'.repeat(129) }],
    ['prompt', { prompt: 7 }],
    ['content', { prompt: undefined }],
    ['content', { content: [] }],
    ['content', { content: 'A harbour' }],
    ['content.0.type', { content: [{ type: 'file' }] }],
    ['content.0.image_url', { content: [{ type: 'image_url', image_url: 'https://example.com/a.png' }] }],
    ['content.0.role', { content: [{ ...picture, role: 'hero' }] }],
    ['content.0.role', { content: [{ ...audio, role: 'first_frame' }] }],
    ['content.0', { content: [audio] }],
    ['content.1', { content: [picture, picture] }],
    ['image_url', { content: [picture], image_url: 'https://example.com/a.png' }],
    ['image_url', { image_url: 'data:image/png;base64,AAAA' }],
    ['image_url', { image_url: 'ftp://example.com/a.png' }],
    ['image_url', { image_url: 7 }],
    ['last_frame_image_url', { last_frame_image_url: '' }],
    ['reference_image_urls', { reference_image_urls: 'https://example.com/a.png' }],
    ['reference_image_urls.16', { reference_image_urls: Array(17).fill('https://example.com/a.png') }],
    ['seed', { seed: 1.5 }],
    ['duration', { duration: 3 }],
    ['duration', { duration: 16 }],
    ['duration', { duration: -1 }],
    ['duration', { duration: 4.5 }],
    ['duration', { duration: '5' }],
    ['duration', { model: 'videomodel-2.5', duration: undefined }],
    ['duration', { model: 'videomodel-2.5', duration: 3 }],
    ['duration', { model: 'videomodel-2.5', duration: 31 }],
    ['duration', { model: 'videomodel-2.5', duration: -1 }],
    ['resolution', { resolution: '8k' }],
    ['ratio', { ratio: '2:1' }],
    ['aspect_ratio', { aspect_ratio: 'auto' }],
    ['aspect_ratio', { ratio: '16:9', aspect_ratio: '9:16' }],
    ['generate_audio', { generate_audio: 'yes' }],
    ['nsfw_check', { nsfw_check: 1 }],
    ['content', { prompt: 'a'.repeat(200_000), content: [{ type: 'text', text: 'b'.repeat(62_144) }] }],
    ['return_last_frame', { return_last_frame: 'true' }],
    ['webhook_url', { webhook_url: 'https://example.com/hook' }],
  ])('is refused with 422 on %s (case %$)', async (param, changes) => {
    expect(await refusal(await post({ ...film, ...changes }))).toEqual({
      status: 422,
      code: 'invalid_parameter',
      param,
    });
  });

  it('may begin with a GIF and end with an AVIF, over REST and MCP', async () => {
    const frames = {
      image_url: dataUri('image/gif', await makeImage('gif', { width: 60, height: 60, colour: '#ff0000' })),
      last_frame_image_url: dataUri('image/avif', await makeImage('avif', { colour: '#0000ff' })),
      return_last_frame: true,
    };
    const video = await whenEnded(await create({ ...film, ...frames }));
    expect(video).toMatchObject({ status: 'completed', ratio: 'adaptive' });
    const measured = await measureVideo(await bytesOf(await content(video)));
    expect(measured).toMatchObject({ width: 480, height: 480 });
    const lastFrame = await bytesOf(await content(video, { query: '?variant=last_frame' }));
    expect(await sharp(lastFrame).metadata()).toMatchObject({ format: 'png', width: 480, height: 480 });
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    const asked = await assistant.callTool({ name: 'create_video', arguments: { ...unmade, ...frames } });
    expect(asked.structuredContent).toMatchObject({ status: 'queued' });
  });

  it.each(['MOV', 'webm', '', 7, null, ['mov'], { mov: true }])(
    'for the output format %j is for MP4, over REST and MCP',
    async (outputFormat) => {
      // An account has five videos under way at most.
      const { apiKey: key } = await openCustomer(gateway);
      const body = { ...film, ...unmade, output_format: outputFormat };
      expect(await create(body, key)).toMatchObject({ output_format: 'mp4' });
      const assistant = await connectAssistant(gateway, key);
      onTestFinished(() => assistant.close());
      expect(await assistant.callTool({ name: 'create_video', arguments: body })).toMatchObject({
        structuredContent: { output_format: 'mp4' },
      });
    },
  );

  it('for an edit in another shape than its clip’s is refused', async () => {
    const body = {
      model: 'videomodel-2.5',
      duration: -1,
      content: [{ type: 'video_url', video_url: { url: clip } }],
    };
    expect(await refusal(await post({ ...body, ratio: '16:9' }))).toMatchObject({
      status: 422,
      param: 'ratio',
    });
  });

  it('is refused over MCP with what is said over REST, but for the names of tools', async () => {
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    const failed = await whenEnded(await create(unmade));
    const unknown = crypto.randomUUID();
    for (const [name, input, answer] of [
      ['create_video', { ...film, model: 'videomodel-9' }, await post({ ...film, model: 'videomodel-9' })],
      ['create_video', { ...film, duration: 16 }, await post({ ...film, duration: 16 })],
      ['get_video', { video_id: unknown }, await gateway.call(`/v1/videos/${unknown}`, { apiKey })],
      ['get_video_content', { video_id: failed['id'] }, await content(failed)],
      [
        'get_video_content',
        { video_id: failed['id'], variant: 'nothing' },
        await content(failed, { query: '?variant=nothing' }),
      ],
    ] as const) {
      const result = await assistant.callTool({ name, arguments: input });
      expect(result.isError).toBe(true);
      expect(answer.ok).toBe(false);
      const overRest = (await answer.text())
        .replace('GET /v1/models', 'list_models')
        .replace('GET /v1/videos/{id}', 'get_video');
      expect(result.structuredContent).toEqual(JSON.parse(overRest));
    }
  });

  it('for what is no video SKU is refused', async () => {
    for (const model of ['videomodel-9', 'textmodel-3.5-flash'])
      expect(await refusal(await post({ ...film, model }))).toEqual({
        status: 400,
        code: 'model_not_found',
        param: 'model',
      });
  });

  it('that the balance does not cover is refused, and leaves nothing behind', async () => {
    const poor = await openAccount(gateway.services, { amount: 79_999_999n });
    const answer = await post(film, { apiKey: poor.apiKey });
    expect(answer.status).toBe(402);
    expect(await answer.json()).toMatchObject({
      error: { type: 'insufficient_quota', code: 'insufficient_balance' },
    });
    const fromNowhere = { ...film, image_url: 'https://nowhere.invalid/file' };
    expect((await post(fromNowhere, { apiKey: poor.apiKey })).status).toBe(402);
    expect(await page(gateway, '/v1/jobs', poor.apiKey)).toMatchObject({ data: [] });
    expect(await read(gateway, '/v1/balance', poor.apiKey)).toMatchObject({ balance_usd: '0.079999999' });
  });

  it('needs a key', async () => {
    expect(await refusal(await gateway.call('/v1/videos', { apiKey: null, body: film }))).toMatchObject({
      status: 401,
      code: 'invalid_api_key',
    });
  });
});

describe('a video whose bytes were lost', () => {
  it('is paid back once, however often and by however many it is asked for', async () => {
    const before = await read(gateway, '/v1/balance', apiKey);
    const media = await gateway.services.store.listMedia(String(made['id']));
    const { id } = media.find(({ role }) => role === 'video') ?? { id: '' };
    await rm(join(gateway.services.config.dataDir, 'media', id.slice(0, 2), id));
    expect((await content(made, { query: '?variant=last_frame' })).status).toBe(200);
    expect(await historyOf(made)).toMatchObject({ billing_status: 'charged' });

    for (const asked of [2, 1])
      for (const answer of await Promise.all(Array.from({ length: asked }, () => content(made)))) {
        expect(answer.status).toBe(502);
        expect(await answer.json()).toEqual({
          error: {
            type: 'server_error',
            code: 'upstream_error',
            message:
              'The content could not be fetched safely: it is lost. The charge of $0.08 was given back. ' +
              'Make the video again.',
          },
        });
      }
    expect(await historyOf(made)).toMatchObject({
      status: 'done',
      billing_status: 'refunded',
      charged_usd: '0.08',
      refunded_usd: '0.08',
      net_spent_usd: '0.00',
    });
    const refunds = (await page(gateway, '/v1/transactions', apiKey)).data.filter(
      ({ type }) => type === 'refund',
    );
    expect(refunds).toMatchObject([{ amount_usd: '0.08', job_id: made['id'] }]);
    const after = await read(gateway, '/v1/balance', apiKey);
    expect(Number(after['balance_usd']) - Number(before['balance_usd'])).toBeCloseTo(0.08, 9);
    expect((await gateway.services.store.checkLedger()).problems).toEqual([]);
  });
});

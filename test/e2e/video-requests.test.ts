import { createServer } from 'node:http';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { measureVideo } from '../../src/providers/video/measure-video.ts';
import { dataUri, makeImage } from '../media/input-images.ts';
import { listenOnLoopback } from '../mcp/listen-on-loopback.ts';
import { openAccount } from '../mcp/open-account.ts';
import { muxFilm } from '../providers/video/mux-film.ts';
import { readClip } from '../providers/video/read-clip.ts';
import { connectAssistant, openCustomer, page, read, refusal } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';
import { bytesOf, film, unmade, videoCalls } from './video-calls.ts';

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
let clip: string;

beforeAll(async () => {
  gateway = await startTestGateway({
    environment: { ALLOW_LOOPBACK_URLS: 'true', REQUESTS_PER_MINUTE: '100000' },
  });
  ({ apiKey } = await openCustomer(gateway));
  clip = dataUri('video/mp4', await readClip('longer.mp4'));
});
afterAll(() => gateway.stop());

const { post, create, whenEnded, content } = videoCalls(() => ({ gateway, apiKey }));

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
    const from = await readClip('plain.mp4');
    const short = await muxFilm({ from, pictures: 51, soundMs: 4_250, isFragmented: false });
    const content = [{ type: 'video_url', video_url: { url: dataUri('video/mp4', short) } }];
    // As a reference its result will count this length, which is what it costs.
    expect(await withClip({ ...edit, content })).toMatchObject({ duration: 5, usage: { billed_seconds: 5 } });
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

  it('may have 262,144 characters of any kind in all its texts together', async () => {
    const [most, rest] = ['🌊'.repeat(262_144), [{ type: 'text', text: '🌊' }]];
    expect(await create({ ...unmade, prompt: `${unmade.prompt}${most.slice(200)}` })).toBeDefined();
    expect(await refusal(await post({ ...unmade, prompt: most, content: rest }))).toMatchObject({
      status: 422,
      param: 'content',
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

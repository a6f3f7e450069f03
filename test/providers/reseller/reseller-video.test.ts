import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import { validate } from '../../../src/operations/validate.ts';
import { createVideo } from '../../../src/operations/videos/create-video.ts';
import { namedInputs, promptOf } from '../../../src/operations/videos/video-input.ts';
import { createOutbound } from '../../../src/http/create-outbound.ts';
import type { Outbound } from '../../../src/http/outbound.ts';
import { createMovMaker, type MovMaker } from '../../../src/providers/video/to-mov.ts';
import { videoContentType } from '../../../src/providers/content-type.ts';
import type { VideoProvider } from '../../../src/providers/video/video-provider.ts';
import { createUpstream, type Upstream } from '../../../src/providers/upstream.ts';
import { createResellerVideo } from '../../../src/providers/reseller/reseller-video.ts';
import { failing, limits, openOutbound, startRaw } from '../../http/local-hosts.ts';
import { noAbort, rejectionOf } from '../collect.ts';
import { collectBytes } from '../video/collect-bytes.ts';
import { readClip } from '../video/read-clip.ts';
import {
  startStubVideoUpstream,
  type StubReply,
  type StubVideoUpstream,
} from '../video/stub-video-upstream.ts';
import { videoInput, videoRequest } from '../video/video-builders.ts';

const gateway = createVideo({ takesVideoWebhooks: false });

const timeouts = { connectMs: 5_000, firstByteMs: 10_000, idleMs: 10_000, totalMs: 20_000 };
/** For an upstream that is silent, or stops in the middle. */
const hasty = { ...timeouts, firstByteMs: 500, idleMs: 150 };
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

let stub: StubVideoUpstream;
let outbound: Outbound;
let movMaker: MovMaker;
let directory: string;
let clip: Buffer;
const open: Upstream[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'causeway-reseller-'));
  clip = await readClip('plain.mp4');
  outbound = createOutbound({ allowsLoopback: true, userAgent: 'test' });
  movMaker = createMovMaker({ directory });
});
afterAll(async () => {
  await Promise.all([outbound.close(), movMaker.close(), ...open.map((upstream) => upstream.close())]);
  await rm(directory, { recursive: true, force: true });
});
beforeEach(async () => {
  stub = await startStubVideoUpstream();
  return () => stub.close();
});

const create = (times = timeouts, baseUrl = `${stub.origin}/v1`, wayOut = outbound): VideoProvider => {
  const upstream = createUpstream({ apiKey: 'sk-reseller', timeouts: times });
  open.push(upstream);
  const from = { baseUrl, upstream, outbound: wayOut, movMaker, timeouts: times, log: silentLog };
  return createResellerVideo(from);
};

const start = (different = {}, provider = create()): Promise<string> =>
  provider.start(videoRequest(different), { signal: noAbort() });
const report = (provider = create()) => provider.report('video_1', { signal: noAbort() });
const fetchPart = (part: 'video' | 'last_frame', outputFormat: 'mp4' | 'mov' = 'mp4', provider = create()) =>
  provider.fetch('video_1', part, { request: { outputFormat }, signal: noAbort() });

const error = (status: number, code: string, type = 'invalid_request_error', message = 'No.'): StubReply => ({
  kind: 'json',
  status,
  body: { error: { code, type, message } },
});

describe('the start of a reseller’s video', () => {
  beforeEach(() =>
    stub.reply('POST /v1/videos', { kind: 'json', status: 202, body: { id: 'video_1', status: 'queued' } }),
  );

  it('speaks OpenAI’s dialect and this gateway’s at once', async () => {
    const inputs = [
      videoInput('first_frame', 'image/png', png),
      videoInput('reference_video', 'video/mp4'),
      videoInput('reference_audio', 'audio/wav'),
    ];
    const id = await start({ inputs, seed: 3, returnLastFrame: true, nsfwCheck: true, outputFormat: 'mov' });
    expect(id).toBe('video_1');
    const body = stub.requests[0]?.body;
    expect(body).toMatchObject({
      model: 'm',
      prompt: 'A harbour at dawn',
      seconds: '4',
      size: '854x480',
      input_reference: { image_url: 'https://gateway.example/results/first_frame' },
    });
    const read = validate(gateway, body);
    expect(read).toMatchObject({
      model: 'm',
      duration: 4,
      resolution: '480p',
      ratio: '16:9',
      seed: 3,
      generate_audio: true,
      nsfw_check: true,
      return_last_frame: true,
      output_format: 'mov',
    });
    expect(promptOf(read)).toBe('A harbour at dawn');
    expect(namedInputs(read).map(({ role, url }) => [role, url])).toEqual([
      ['first_frame', `data:image/png;base64,${png.toString('base64')}`],
      ['reference_video', 'https://gateway.example/results/reference_video'],
      ['reference_audio', 'https://gateway.example/results/reference_audio'],
    ]);
  });

  it('of an edit, or in the shape of its input, names no length in seconds and no size', async () => {
    await start({
      prompt: '',
      durationSeconds: -1,
      ratio: 'adaptive',
      inputs: [videoInput('reference_video', 'video/mp4')],
    });
    const body = stub.requests[0]?.body;
    expect(validate(gateway, body)).toMatchObject({ duration: -1, ratio: 'adaptive' });
    for (const name of ['seconds', 'size', 'prompt', 'seed', 'input_reference'])
      expect(body).not.toHaveProperty(name);
  });

  it('sends images that are too large together for a body by their address', async () => {
    const large = Buffer.alloc(7 * 1024 ** 2);
    await start({
      inputs: [
        videoInput('reference_image', 'image/png', large),
        videoInput('first_frame', 'image/png', large),
      ],
    });
    const body = stub.requests[0]?.body as { content: { image_url: { url: string } }[] };
    expect(body.content.map((part) => part.image_url.url.slice(0, 30))).toEqual([
      'data:image/png;base64,AAAAAAAA',
      'https://gateway.example/result',
    ]);
  });

  it('has the key, and an idempotency key of its own', async () => {
    await start();
    await start({}, create(timeouts, stub.origin));
    const keys = stub.requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys.every((key) => typeof key === 'string' && /^[0-9a-f-]{36}$/.test(key))).toBe(true);
    expect(new Set(keys).size).toBe(2);
    expect(stub.requests[0]?.headers.authorization).toBe('Bearer sk-reseller');
  });

  it.each([
    ['a wrong field', error(422, 'invalid_parameter'), 'fatal', 'invalid_parameter'],
    ['the content policy', error(400, 'content_policy_violation'), 'fatal', 'content_policy_violation'],
    ['the key', error(401, 'invalid_api_key', 'authentication_error'), 'retry_other', 'upstream_unavailable'],
    [
      'the balance',
      error(402, 'insufficient_balance', 'insufficient_quota'),
      'retry_other',
      'upstream_unavailable',
    ],
    ['the model', error(400, 'model_not_found'), 'retry_other', 'upstream_unavailable'],
    ['too many videos', error(429, 'too_many_active_jobs'), 'retry_same', 'rate_limit_exceeded'],
    ['a fault', error(500, 'server_error', 'server_error'), 'retry_same', 'upstream_error'],
    ['an overload', error(503, 'overloaded', 'server_error'), 'retry_same', 'upstream_unavailable'],
    ['a gateway', { kind: 'file', status: 502, bytes: Buffer.from('<html>') }, 'ambiguous', 'upstream_error'],
    ['an answer without an id', { kind: 'json', body: [] }, 'ambiguous', 'upstream_error'],
    ['garbage', { kind: 'file', bytes: Buffer.from('\u0000\u0001') }, 'ambiguous', 'upstream_error'],
    ['a reset', { kind: 'hang-up' }, 'ambiguous', 'upstream_error'],
  ] satisfies [string, StubReply, string, string][])(
    'that fails because of %s fails as that',
    async (_name, reply, failure, code) => {
      stub.reply('POST /v1/videos', reply);
      expect(await rejectionOf(start())).toMatchObject({ name: 'ProviderError', failure, code });
    },
  );

  it('waits as long as it was told', async () => {
    stub.reply('POST /v1/videos', {
      kind: 'json',
      status: 429,
      body: { error: 'slow down' },
      headers: { 'retry-after': '7' },
    });
    expect(await rejectionOf(start())).toMatchObject({ failure: 'retry_same', retryAfterMs: 7_000 });
  });
});

describe('the report of a reseller’s video', () => {
  it.each([
    [
      { status: 'queued', progress: 0 },
      { state: 'pending', progress: 0 },
    ],
    [
      { status: 'in_progress', progress: 41.5 },
      { state: 'pending', progress: 41.5 },
    ],
    [
      { status: 'in_progress', progress: 'half' },
      { state: 'pending', progress: null },
    ],
    [{ status: 'rendering' }, { state: 'pending', progress: null }],
    [{ status: 'completed', progress: 100 }, { state: 'done' }],
  ])('%j is %j', async (body, expected) => {
    stub.reply('GET /v1/videos/video_1', { kind: 'json', body: { id: 'video_1', ...body } });
    expect(await report()).toEqual(expected);
  });

  it.each([
    [{ code: 'upstream_error', type: 'server_error', message: 'No.' }, 'upstream_error'],
    [{ code: 'moderation_blocked', message: 'No.' }, 'content_policy_violation'],
    [{ type: 'invalid_request_error', code: 'invalid_parameter', message: 'No.' }, 'invalid_parameter'],
    ['it failed', 'upstream_error'],
    [null, 'upstream_error'],
  ])('failed with %j is that it failed', async (reason, code) => {
    stub.reply('GET /v1/videos/video_1', { kind: 'json', body: { status: 'failed', error: reason } });
    expect(await report()).toMatchObject({ state: 'failed', error: { failure: 'fatal', code } });
  });

  it.each([
    ['of a fault', error(500, 'server_error'), 'retry_same'],
    ['of the rate', error(429, 'rate_limit_exceeded'), 'retry_same'],
    ['of garbage', { kind: 'file', bytes: Buffer.from('[1,') }, 'retry_same'],
    ['of a reset', { kind: 'hang-up' }, 'ambiguous'],
    ['of an unknown id', error(404, 'video_not_found'), 'fatal'],
  ] satisfies [string, StubReply, string][])('cannot be had because %s', async (_name, reply, failure) => {
    stub.reply('GET /v1/videos/video_1', reply);
    expect(await rejectionOf(report())).toMatchObject({ name: 'ProviderError', failure });
  });

  it('asks for ids as they are, whatever is in them', async () => {
    stub.reply('GET /v1/videos/a%2F..%2Fb%3F', { kind: 'json', body: { status: 'completed' } });
    expect(await create().report('a/../b?', { signal: noAbort() })).toEqual({ state: 'done' });
  });
});

describe('the content of a reseller’s video', () => {
  const content = '/v1/videos/video_1/content';

  it('is streamed with the key', async () => {
    stub.reply(`GET ${content}`, { kind: 'file', bytes: clip });
    stub.reply(`GET ${content}?variant=last_frame`, { kind: 'file', bytes: png });
    const video = await fetchPart('video');
    expect(video?.contentType).toBe('video/mp4');
    expect((await collectBytes(video!.body)).equals(clip)).toBe(true);
    const lastFrame = await fetchPart('last_frame');
    expect(lastFrame?.contentType).toBe('image/png');
    expect((await collectBytes(lastFrame!.body)).equals(png)).toBe(true);
    expect(stub.requests.every(({ headers }) => headers.authorization === 'Bearer sk-reseller')).toBe(true);
  });

  it('may be elsewhere, where it is fetched without the key', async () => {
    stub.reply(`GET ${content}`, { kind: 'redirect', location: '/storage/v.mp4' });
    stub.reply('GET /storage/v.mp4', { kind: 'file', bytes: clip });
    const video = await fetchPart('video');
    expect((await collectBytes(video!.body)).equals(clip)).toBe(true);
    expect(stub.requests.at(-1)?.headers.authorization).toBeUndefined();
  });

  it('is fetched from elsewhere also while the inputs of customers take every place', async () => {
    const crowded = openOutbound({ atOnce: 1, waiting: 0 });
    const silent = await startRaw('');
    crowded.download(silent, limits).catch(() => undefined);
    await expect(crowded.download(silent, limits)).rejects.toEqual(failing('busy'));
    stub.reply(`GET ${content}`, { kind: 'redirect', location: '/storage/v.mp4' });
    stub.reply('GET /storage/v.mp4', { kind: 'file', bytes: clip });
    const video = await fetchPart('video', 'mp4', create(timeouts, stub.origin, crowded));
    expect((await collectBytes(video!.body)).equals(clip)).toBe(true);
  });

  it('is put into a MOV file where the upstream made an MP4 of it, and left as it is where it did not', async () => {
    stub.reply(`GET ${content}`, { kind: 'file', bytes: clip });
    const made = await collectBytes((await fetchPart('video', 'mov'))!.body);
    expect(videoContentType(made)).toBe('video/quicktime');
    stub.reply(`GET ${content}`, { kind: 'file', bytes: made });
    const kept = await fetchPart('video', 'mov');
    expect(kept?.contentType).toBe('video/quicktime');
    expect((await collectBytes(kept!.body)).equals(made)).toBe(true);
  });

  it.each([
    ['knows no such variant', error(400, 'invalid_parameter')],
    ['made none', error(404, 'not_found')],
    ['sends the video instead', { kind: 'file', bytes: Buffer.from('\0\0\0\x20ftypisom\0\0\x02\0') }],
  ] satisfies [string, StubReply][])('has no last frame where the upstream %s', async (_name, reply) => {
    stub.reply(`GET ${content}?variant=last_frame`, reply);
    expect(await fetchPart('last_frame')).toBeNull();
  });

  it.each([
    ['it is gone', error(410, 'content_expired'), 'fatal'],
    ['the upstream is out of order', error(502, 'upstream_error'), 'retry_same'],
    ['there is no answer', { kind: 'silence' }, 'ambiguous'],
    ['it is no video', { kind: 'file', bytes: Buffer.from('{"detail": "not yet"}') }, 'ambiguous'],
    ['it is elsewhere, and not there', { kind: 'redirect', location: '/nowhere' }, 'retry_same'],
    ['it is elsewhere, at no address', { kind: 'redirect', location: 'ftp://x' }, 'fatal'],
  ] satisfies [string, StubReply, string][])('fails when %s', async (_name, reply, failure) => {
    stub.reply(`GET ${content}`, reply);
    const provider = create(reply.kind === 'silence' ? hasty : timeouts);
    expect(await rejectionOf(fetchPart('video', 'mp4', provider))).toMatchObject({
      name: 'ProviderError',
      failure,
    });
  });

  it.each(['stall', 'reset'] as const)('fails when it ends in a %s', async (ending) => {
    stub.reply(`GET ${content}`, { kind: 'file', bytes: clip, breakAfter: { bytes: 2_000, ending } });
    const video = await fetchPart('video', 'mp4', create({ ...timeouts, idleMs: 150 }));
    expect(await rejectionOf(collectBytes(video!.body))).toMatchObject({ failure: 'retry_same' });
  });

  it('comes at the pace of its reader, whose time is not counted', async () => {
    const large = Buffer.concat([clip, Buffer.alloc(8_000_000)]);
    stub.reply(`GET ${content}`, { kind: 'file', bytes: large });
    const video = await fetchPart('video', 'mp4', create({ ...timeouts, idleMs: 1_000 }));
    let bytes = 0;
    for await (const chunk of video!.body) {
      if (bytes === 0) await new Promise((resolve) => setTimeout(resolve, 1_500));
      bytes += chunk.length;
    }
    expect(bytes).toBe(large.length);
  });

  it('ends with the caller’s reason when the caller aborts', async () => {
    stub.reply(`GET ${content}`, {
      kind: 'file',
      bytes: clip,
      breakAfter: { bytes: 2_000, ending: 'stall' },
    });
    const controller = new AbortController();
    const video = await create().fetch('video_1', 'video', {
      request: { outputFormat: 'mp4' },
      signal: controller.signal,
    });
    const reason = new Error('enough');
    const reading = rejectionOf(collectBytes(video!.body));
    controller.abort(reason);
    expect(await reading).toBe(reason);
  });
});

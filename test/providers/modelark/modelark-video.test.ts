import { readdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_FORMATS, BufferSource, Input } from 'mediabunny';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import { createOutbound } from '../../../src/http/create-outbound.ts';
import type { Outbound } from '../../../src/http/outbound.ts';
import { createModelarkVideo } from '../../../src/providers/modelark/modelark-video.ts';
import { createMovMaker, type MovMaker } from '../../../src/providers/video/to-mov.ts';
import type { VideoProvider } from '../../../src/providers/video/video-provider.ts';
import { createVideoRouter } from '../../../src/providers/router.ts';
import { createUpstream, type Upstream } from '../../../src/providers/upstream.ts';
import { noAbort, onlyRoute, rejectionOf } from '../collect.ts';
import { collectBytes } from '../video/collect-bytes.ts';
import { readClip } from '../video/read-clip.ts';
import {
  startStubVideoUpstream,
  type StubReply,
  type StubVideoUpstream,
} from '../video/stub-video-upstream.ts';
import { videoInput, videoRequest } from '../video/video-builders.ts';

const tasks = '/api/v3/contents/generations/tasks';
const task = `${tasks}/cgt-1`;
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
  directory = await mkdtemp(join(tmpdir(), 'causeway-modelark-'));
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

const create = (
  different: { timeouts?: typeof timeouts; baseUrl?: string; outbound?: Outbound } = {},
): VideoProvider => {
  const options = { baseUrl: stub.origin, outbound, timeouts, ...different };
  const upstream = createUpstream({ apiKey: 'ark-key', timeouts: options.timeouts });
  open.push(upstream);
  return createModelarkVideo({ ...options, upstream, movMaker, log: silentLog });
};

const start = (different = {}, provider = create()): Promise<string> =>
  provider.start(videoRequest(different), { signal: noAbort() });
const report = (provider = create()) => provider.report('cgt-1', { signal: noAbort() });
const fetchPart = (
  part: 'video' | 'last_frame',
  {
    outputFormat = 'mp4',
    provider = create(),
  }: { outputFormat?: 'mp4' | 'mov'; provider?: VideoProvider } = {},
) => provider.fetch('cgt-1', part, { request: { outputFormat }, signal: noAbort() });

const error = (status: number, code: string, message = 'No.'): StubReply => ({
  kind: 'json',
  status,
  body: { error: { code, message, param: '', type: 'BadRequest' } },
});

describe('the start of a ModelArk task', () => {
  beforeEach(() => stub.reply(`POST ${tasks}`, { kind: 'json', body: { id: 'cgt-1' } }));

  it('has every field of the request and answers the task’s id', async () => {
    const id = await start({
      model: 'seedance-2-0',
      prompt: 'A harbour --ratio 1:1',
      inputs: [
        videoInput('first_frame', 'image/png', png),
        videoInput('reference_video', 'video/mp4'),
        videoInput('reference_audio', 'audio/mpeg'),
      ],
      seed: 7,
      durationSeconds: 5,
      resolution: '4k',
      ratio: 'adaptive',
      generateAudio: false,
      returnLastFrame: true,
      outputFormat: 'mov',
    });
    expect(id).toBe('cgt-1');
    const [sent] = stub.requests;
    expect(sent?.headers).toMatchObject({
      authorization: 'Bearer ark-key',
      'content-type': 'application/json',
    });
    expect(sent?.body).toEqual({
      model: 'seedance-2-0',
      content: [
        { type: 'text', text: 'A harbour –ratio 1:1' },
        {
          type: 'image_url',
          image_url: { url: `data:image/png;base64,${png.toString('base64')}` },
          role: 'first_frame',
        },
        {
          type: 'video_url',
          video_url: { url: 'https://gateway.example/results/reference_video' },
          role: 'reference_video',
        },
        {
          type: 'audio_url',
          audio_url: { url: 'https://gateway.example/results/reference_audio' },
          role: 'reference_audio',
        },
      ],
      resolution: '4k',
      ratio: 'adaptive',
      duration: 5,
      seed: 7,
      generate_audio: false,
      return_last_frame: true,
      watermark: false,
    });
  });

  it('is refused when a moderation pass is wanted that nobody made, and nothing is asked of the upstream', async () => {
    const options = { clock: { now: () => 0 }, log: silentLog };
    const { start: begin, restMs } = createVideoRouter([onlyRoute(create())], options);
    const refused = { failure: 'retry_other', code: 'invalid_parameter' };
    for (let count = 0; count < 10; count += 1) {
      const asked = videoRequest({ nsfwCheck: true });
      expect(await rejectionOf(begin(asked, { signal: noAbort() }))).toMatchObject(refused);
    }
    expect([stub.requests, restMs()]).toEqual([[], 0]);
    // The model is there for everybody else.
    expect(await begin(videoRequest(), { signal: noAbort() })).toMatchObject({ task: 'cgt-1' });
  });

  it('leaves out what was not given', async () => {
    await start({
      prompt: '',
      inputs: [videoInput('reference_image', 'image/png', png)],
      durationSeconds: -1,
    });
    const body = stub.requests[0]?.body;
    expect(body).toMatchObject({ duration: -1, content: [{ type: 'image_url' }] });
    expect(body).not.toHaveProperty('seed');
  });

  it('may have the whole address of the service for a base', async () => {
    expect(await start({}, create({ baseUrl: `${stub.origin}/api/v3` }))).toBe('cgt-1');
  });

  it.each([
    ['unknown to the router as such', error(400, 'InvalidParameter'), 'fatal', 'invalid_parameter'],
    ['of our key', error(401, 'AuthenticationError'), 'retry_other', 'upstream_unavailable'],
    ['of our debts', error(403, 'AccountOverdueError'), 'retry_other', 'upstream_unavailable'],
    [
      'of a closed endpoint',
      error(400, 'InvalidEndpoint.ClosedEndpoint'),
      'retry_other',
      'upstream_unavailable',
    ],
    ['of a model', error(404, 'ModelNotOpen'), 'retry_other', 'upstream_unavailable'],
    ['of our quota', error(429, 'QuotaExceeded'), 'retry_other', 'upstream_unavailable'],
    ['of haste', error(429, 'RateLimitExceeded.EndpointRPMExceeded'), 'retry_same', 'rate_limit_exceeded'],
    ['of a fault', error(500, 'InternalServiceError'), 'retry_same', 'upstream_error'],
    [
      'of a gateway',
      { kind: 'file', status: 504, bytes: Buffer.from('<html>') },
      'ambiguous',
      'upstream_error',
    ],
    [
      'without words',
      { kind: 'file', status: 400, bytes: Buffer.from('<html>') },
      'fatal',
      'invalid_parameter',
    ],
    ['without an id', { kind: 'json', body: { task: 1 } }, 'ambiguous', 'upstream_error'],
    ['without JSON', { kind: 'file', bytes: Buffer.from('{"id": "cg') }, 'ambiguous', 'upstream_error'],
    ['that is null', { kind: 'json', body: null }, 'ambiguous', 'upstream_error'],
    ['that is a reset', { kind: 'hang-up' }, 'ambiguous', 'upstream_error'],
  ] satisfies [string, StubReply, string, string][])(
    'with an answer %s fails as what it is',
    async (_name, reply, failure, code) => {
      stub.reply(`POST ${tasks}`, reply);
      expect(await rejectionOf(start())).toMatchObject({ name: 'ProviderError', failure, code });
    },
  );

  it('that is moderated is refused with the upstream’s words, without its name and ids', async () => {
    stub.reply(
      `POST ${tasks}`,
      error(
        400,
        'InputImageSensitiveContentDetected.PrivacyInformation',
        'The request failed because the input image may contain real person. Request id: 02171',
      ),
    );
    expect(await rejectionOf(start())).toMatchObject({
      failure: 'fatal',
      code: 'content_policy_violation',
      explanation: 'The request failed because the input image may contain real person.',
    });
  });

  it('is ambiguous when no answer comes, and none was begun when nobody listens', async () => {
    stub.reply(`POST ${tasks}`, { kind: 'silence' });
    expect(await rejectionOf(start({}, create({ timeouts: hasty })))).toMatchObject({ failure: 'ambiguous' });
    const nobody = create({ baseUrl: 'http://127.0.0.1:1' });
    expect(await rejectionOf(start({}, nobody))).toMatchObject({ failure: 'retry_same' });
  });

  it('is given up when the caller aborts', async () => {
    stub.reply(`POST ${tasks}`, { kind: 'silence' });
    const controller = new AbortController();
    const starting = rejectionOf(create().start(videoRequest(), { signal: controller.signal }));
    const reason = new Error('enough');
    controller.abort(reason);
    expect(await starting).toBe(reason);
  });
});

describe('the report of a ModelArk task', () => {
  const answer = (body: unknown): void => stub.reply(`GET ${task}`, { kind: 'json', body });

  it.each([
    ['queued', { state: 'pending', progress: null }],
    ['running', { state: 'pending', progress: null }],
    ['dreaming', { state: 'pending', progress: null }],
    [undefined, { state: 'pending', progress: null }],
  ])('of one that is %s is that it is pending', async (status, expected) => {
    answer({ id: 'cgt-1', status, content: 'none yet' });
    expect(await report()).toEqual(expected);
  });

  it('of one that succeeded is that it is done', async () => {
    answer({
      id: 'cgt-1',
      status: 'succeeded',
      content: { video_url: 'https://x.example/v.mp4' },
      usage: {},
    });
    expect(await report()).toEqual({ state: 'done' });
  });

  it.each([
    ['failed', { code: 'InternalServiceError', message: 'x' }, 'upstream_error'],
    ['failed', { code: 'OutputVideoSensitiveContentDetected', message: 'x' }, 'content_policy_violation'],
    ['failed', { code: 'InvalidParameter.Duration', message: 'x' }, 'invalid_parameter'],
    ['failed', null, 'upstream_error'],
    ['cancelled', null, 'upstream_error'],
    ['expired', null, 'upstream_error'],
    ['succeeded', null, 'upstream_error'],
  ])('of one that is %s with %j is that it failed', async (status, error, code) => {
    answer({ id: 'cgt-1', status, error, content: null });
    expect(await report()).toMatchObject({ state: 'failed', error: { failure: 'fatal', code } });
  });

  it.each([
    ['the key is refused', error(401, 'AuthenticationError'), 'retry_same'],
    ['there are too many questions', error(429, 'RateLimitExceeded'), 'retry_same'],
    ['it is out of order', error(500, 'InternalServiceError'), 'retry_same'],
    ['it answers garbage', { kind: 'file', bytes: Buffer.from('garbage') }, 'retry_same'],
    ['the connection breaks', { kind: 'hang-up' }, 'ambiguous'],
    ['it knows no such task', error(404, 'NotFound'), 'fatal'],
  ] satisfies [string, StubReply, string][])('cannot be had when %s', async (_name, reply, failure) => {
    stub.reply(`GET ${task}`, reply);
    expect(await rejectionOf(report())).toMatchObject({ name: 'ProviderError', failure });
  });

  it('cannot be had when no answer comes', async () => {
    stub.reply(`GET ${task}`, { kind: 'silence' });
    expect(await rejectionOf(report(create({ timeouts: hasty })))).toMatchObject({ failure: 'ambiguous' });
  });
});

describe('the result of a ModelArk task', () => {
  const finish = (video: StubReply, lastFrame: StubReply | null = null): void => {
    stub.reply(`GET ${task}`, {
      kind: 'json',
      body: {
        status: 'succeeded',
        content: {
          video_url: `${stub.origin}/v.mp4?signed=1`,
          ...(lastFrame === null ? {} : { last_frame_url: `${stub.origin}/l.png` }),
        },
      },
    });
    stub.reply('GET /v.mp4?signed=1', video);
    if (lastFrame !== null) stub.reply('GET /l.png', lastFrame);
  };

  it('is fetched from where the task says, without the key', async () => {
    finish({ kind: 'file', bytes: clip }, { kind: 'file', bytes: png });
    const video = await fetchPart('video');
    expect(video?.contentType).toBe('video/mp4');
    expect((await collectBytes(video!.body)).equals(clip)).toBe(true);
    const lastFrame = await fetchPart('last_frame');
    expect(lastFrame?.contentType).toBe('image/png');
    expect((await collectBytes(lastFrame!.body)).equals(png)).toBe(true);
    const downloads = stub.requests.filter(({ path }) => !path.startsWith('/api'));
    expect(downloads).toHaveLength(2);
    expect(downloads.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
  });

  it('is put into a MOV file with the same pictures and sounds, and leaves no file behind', async () => {
    finish({ kind: 'file', bytes: clip });
    const video = await fetchPart('video', { outputFormat: 'mov' });
    expect(video?.contentType).toBe('video/quicktime');
    const mov = await collectBytes(video!.body);
    expect(await describeMedia(mov)).toEqual({
      ...(await describeMedia(clip)),
      format: 'QuickTime File Format',
    });
    expect(await readdir(directory)).toEqual([]);
  });

  it('fails, and leaves no file behind, when what should become MOV breaks off or is no video', async () => {
    finish({ kind: 'file', bytes: clip, breakAfter: { bytes: 2_000, ending: 'reset' } });
    const broken = await fetchPart('video', { outputFormat: 'mov' });
    expect(await rejectionOf(collectBytes(broken!.body))).toMatchObject({ failure: 'retry_same' });
    finish({ kind: 'file', bytes: Buffer.concat([clip.subarray(0, 32), Buffer.alloc(5_000, 1)]) });
    const garbage = await fetchPart('video', { outputFormat: 'mov' });
    expect(await rejectionOf(collectBytes(garbage!.body))).toMatchObject({ failure: 'fatal' });
    expect(await readdir(directory)).toEqual([]);
  });

  it('has no last frame when none was made', async () => {
    finish({ kind: 'file', bytes: clip });
    expect(await fetchPart('last_frame')).toBeNull();
  });

  it.each([
    ['is not there any more', { kind: 'json', status: 403, body: {} }, 'retry_same'],
    ['is a web page', { kind: 'file', bytes: Buffer.from('<!doctype html><html>') }, 'ambiguous'],
    ['is empty', { kind: 'file', bytes: Buffer.alloc(0) }, 'ambiguous'],
  ] satisfies [string, StubReply, string][])('fails when the file %s', async (_name, reply, failure) => {
    finish(reply);
    expect(await rejectionOf(fetchPart('video'))).toMatchObject({ name: 'ProviderError', failure });
  });

  it.each(['stall', 'reset'] as const)('fails when the file ends in a %s', async (ending) => {
    finish({ kind: 'file', bytes: clip, breakAfter: { bytes: 2_000, ending } });
    const video = await fetchPart('video', { provider: create({ timeouts: { ...timeouts, idleMs: 150 } }) });
    expect(await rejectionOf(collectBytes(video!.body))).toMatchObject({ failure: 'retry_same' });
  });

  it('is never fetched from an address that is not public', async () => {
    finish({ kind: 'file', bytes: clip });
    const guarded = createOutbound({ allowsLoopback: false, userAgent: 'test' });
    const provider = create({ outbound: guarded });
    expect(await rejectionOf(fetchPart('video', { provider }))).toMatchObject({ name: 'ProviderError' });
    expect(stub.requests.map(({ path }) => path)).toEqual([task]);
    await guarded.close();
  });

  it('waits for a slow reader longer than for the upstream', async () => {
    const large = Buffer.concat([clip, Buffer.alloc(8_000_000)]);
    finish({ kind: 'file', bytes: large });
    const video = await fetchPart('video', {
      provider: create({ timeouts: { ...timeouts, idleMs: 1_000 } }),
    });
    let bytes = 0;
    for await (const chunk of video!.body) {
      if (bytes === 0) await new Promise((resolve) => setTimeout(resolve, 1_500));
      bytes += chunk.length;
    }
    expect(bytes).toBe(large.length);
  });
});

/** What another reader than ours finds in a file. */
const describeMedia = async (bytes: Buffer): Promise<object> => {
  const input = new Input({ source: new BufferSource(bytes), formats: ALL_FORMATS });
  const tracks = await input.getTracks();
  const described = {
    format: (await input.getFormat()).name,
    seconds: Math.round((await input.computeDuration()) * 100) / 100,
    tracks: await Promise.all(
      tracks.map(async (track) => [
        track.type,
        await track.getCodec(),
        (await track.computePacketStats()).packetCount,
      ]),
    ),
  };
  input.dispose();
  return described;
};

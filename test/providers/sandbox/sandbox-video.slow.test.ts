import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import '@napi-rs/webcodecs/polyfill';
import { ALL_FORMATS, BufferSource, Input, VideoSampleSink } from 'mediabunny';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import {
  createSandboxVideo,
  type SandboxVideo,
  type SandboxVideoOptions,
} from '../../../src/providers/sandbox/sandbox-video.ts';
import type { VideoReport, VideoRequest } from '../../../src/providers/video/video-provider.ts';
import { makeImage, makeScans } from '../../media/input-images.ts';
import { measureVideo } from '../../../src/providers/video/measure-video.ts';
import { noAbort, rejectionOf } from '../collect.ts';
import { collectBytes } from '../video/collect-bytes.ts';
import { nameOf, split } from '../video/edit-boxes.ts';
import { readClip } from '../video/read-clip.ts';
import { videoInput, videoRequest } from '../video/video-builders.ts';

let directory: string;
let now: number;
const providers: SandboxVideo[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'causeway-films-'));
});
beforeEach(() => {
  now = Date.now();
});
afterEach(async () => {
  await Promise.all(providers.splice(0).map((provider) => provider.close()));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const create = (options: Partial<SandboxVideoOptions> = {}): SandboxVideo => {
  const provider = createSandboxVideo({
    directory,
    clock: { now: () => now },
    log: silentLog,
    ...options,
  });
  providers.push(provider);
  return provider;
};

/** A sandbox sweeps when it opens, and its end waits for that. */
const sweep = (): Promise<void> => create().close();

/** A film of one second, which is enough to see what it is. */
const short = (different: Partial<VideoRequest> = {}): VideoRequest =>
  videoRequest({ durationSeconds: 1, ...different });

const start = (provider: SandboxVideo, different: Partial<VideoRequest> = {}): Promise<string> =>
  provider.start(short(different), { signal: noAbort() });

const report = (provider: SandboxVideo, task: string): Promise<VideoReport> =>
  provider.report(task, { signal: noAbort() });

const ended = async (provider: SandboxVideo, task: string): Promise<VideoReport> => {
  let last: VideoReport = { state: 'pending', progress: null };
  await expect
    .poll(
      async () => {
        last = await report(provider, task);
        return last.state;
      },
      { timeout: 60_000, interval: 50 },
    )
    .not.toBe('pending');
  return last;
};

const fetchPart = (provider: SandboxVideo, task: string, part: 'video' | 'last_frame') =>
  provider.fetch(task, part, { request: { outputFormat: 'mp4' }, signal: noAbort() });

const bytesOf = async (
  provider: SandboxVideo,
  task: string,
  part: 'video' | 'last_frame' = 'video',
): Promise<{ contentType: string; bytes: Buffer }> => {
  const content = await fetchPart(provider, task, part);
  if (content === null) throw new Error(`there is no ${part}`);
  return { contentType: content.contentType, bytes: await collectBytes(content.body) };
};

const film = async (different: Partial<VideoRequest> = {}) => {
  const provider = create();
  const task = await start(provider, different);
  expect(await ended(provider, task)).toEqual({ state: 'done' });
  return { provider, task, ...(await bytesOf(provider, task)) };
};

/** What a player finds in a film. */
const probe = async (bytes: Buffer) => {
  const input = new Input({ formats: ALL_FORMATS, source: new BufferSource(bytes) });
  try {
    const video = await input.getPrimaryVideoTrack();
    const audio = await input.getPrimaryAudioTrack();
    if (video === null) throw new Error('the film has no pictures');
    return {
      mimeType: (await input.getFormat()).mimeType,
      seconds: await video.computeDuration(),
      claimed: await input.getDurationFromMetadata(),
      codec: await video.getCodec(),
      tag: await video.getInternalCodecId(),
      width: await video.getDisplayWidth(),
      height: await video.getDisplayHeight(),
      sound:
        audio === null
          ? null
          : {
              codec: await audio.getCodec(),
              begins: await audio.getFirstTimestamp(),
              seconds: await audio.computeDuration(),
            },
    };
  } finally {
    input.dispose();
  }
};

/** The picture that is shown at a time, as PNG. */
const pictureAt = async (bytes: Buffer, seconds: number): Promise<Buffer> => {
  const input = new Input({ formats: ALL_FORMATS, source: new BufferSource(bytes) });
  try {
    const track = await input.getPrimaryVideoTrack();
    const sample = track === null ? null : await new VideoSampleSink(track).getSample(seconds);
    if (sample === null) throw new Error(`the film has no picture at ${seconds} s`);
    const { codedWidth: width, codedHeight: height } = sample;
    const pixels = new Uint8Array(width * height * 4);
    // Its type is that of a browser's frame, which knows no formats.
    await sample.copyTo(pixels, { format: 'RGBA' } as object);
    sample.close();
    return await sharp(pixels, { raw: { width, height, channels: 4 } })
      .png()
      .toBuffer();
  } finally {
    input.dispose();
  }
};

const colourOf = async (picture: Buffer): Promise<string> => {
  const { r, g, b } = (await sharp(picture).stats()).dominant;
  if (r > 200 && g < 60 && b < 60) return 'red';
  return b > 200 && g < 60 && r < 60 ? 'blue' : `rgb(${r}, ${g}, ${b})`;
};

describe('a film of the sandbox', () => {
  it('has the asked length, size, ratio and sound, as MP4 with H.264 and its header in front', async () => {
    const { bytes, contentType } = await film({ durationSeconds: 4 });
    expect(contentType).toBe('video/mp4');
    expect(split(bytes).map(nameOf)).toEqual(['ftyp', 'moov', 'mdat']);
    expect(await measureVideo(bytes)).toEqual({ seconds: 4, width: 854, height: 480 });
    const found = await probe(bytes);
    // Whole packets of sound; no padding is left when the pictures end.
    expect(found.sound?.seconds).toBeLessThanOrEqual(4);
    expect(found).toEqual({
      mimeType: 'video/mp4',
      seconds: 4,
      claimed: 4,
      codec: 'avc',
      tag: 'avc1',
      width: 854,
      height: 480,
      sound: { codec: 'aac', begins: 0, seconds: expect.closeTo(4, 1) },
    });
  });

  it('is MOV, without a sound track and in another shape when that was asked', async () => {
    const { bytes, contentType } = await film({
      outputFormat: 'mov',
      generateAudio: false,
      ratio: '9:16',
    });
    expect(contentType).toBe('video/quicktime');
    expect(await probe(bytes)).toEqual({
      mimeType: 'video/quicktime',
      seconds: 1,
      claimed: 1,
      codec: 'avc',
      tag: 'avc1',
      width: 480,
      height: 854,
      sound: null,
    });
  });

  it('is HEVC under the tag that all players know in 4k', async () => {
    const { bytes } = await film({ resolution: '4k' });
    expect(await probe(bytes)).toMatchObject({
      seconds: 1,
      codec: 'hevc',
      tag: 'hvc1',
      width: 3840,
      height: 2160,
    });
  });

  it('begins with its first frame, ends with its last one, and takes its shape from the first', async () => {
    const { provider, task, bytes } = await film({
      ratio: 'adaptive',
      returnLastFrame: true,
      inputs: [
        videoInput('last_frame', 'image/png', await makeImage('png', { colour: '#0000ff' })),
        videoInput(
          'first_frame',
          'image/jpeg',
          await makeImage('jpeg', { width: 40, height: 40, colour: '#ff0000' }),
        ),
      ],
    });
    expect(await probe(bytes)).toMatchObject({ width: 480, height: 480 });
    const lastFrame = await bytesOf(provider, task, 'last_frame');
    expect(lastFrame.contentType).toBe('image/png');
    expect(await sharp(lastFrame.bytes).metadata()).toMatchObject({ width: 480, height: 480 });
    expect(await colourOf(await pictureAt(bytes, 0))).toBe('red');
    expect(await colourOf(lastFrame.bytes)).toBe('blue');
  });

  it('has the colours that its header says', async () => {
    const red = await makeImage('png', { width: 40, height: 40, colour: '#ff0000' });
    const { bytes } = await film({ inputs: [videoInput('first_frame', 'image/png', red)] });
    const input = new Input({ formats: ALL_FORMATS, source: new BufferSource(bytes) });
    const track = await input.getPrimaryVideoTrack();
    const colourSpace = { primaries: 'bt709', transfer: 'bt709', matrix: 'smpte170m', fullRange: false };
    expect((await track?.getDecoderConfig())?.colorSpace).toMatchObject(colourSpace);
    const sample = await new VideoSampleSink(track!).getSample(0);
    const planes = new Uint8Array(sample!.allocationSize());
    await sample!.copyTo(planes);
    sample!.close();
    input.dispose();
    // The brightness of red by the matrix of BT.601.
    expect(Math.abs(planes[0]! - 81)).toBeLessThan(3);
  });

  it('keeps the length and shape of the clip that it edits', async () => {
    const clip = await readClip('square.mp4');
    const { bytes } = await film({
      durationSeconds: -1,
      ratio: 'adaptive',
      inputs: [videoInput('reference_video', 'video/mp4', clip)],
    });
    expect(await probe(bytes)).toMatchObject({ seconds: 2, width: 480, height: 480 });
  });

  it('is removed soon after it was fetched', async () => {
    const { task } = await film();
    await sweep();
    expect(await readdir(directory)).toContain(task);
    now += 11 * 60_000;
    await sweep();
    expect(await readdir(directory)).not.toContain(task);
  });

  it('is removed after it was fetched although nothing else happens', async () => {
    create({ sweepEveryMs: 20 });
    const { task } = await film();
    now += 11 * 60_000;
    await expect.poll(() => readdir(directory)).not.toContain(task);
  });

  it('is removed after it was fetched although its words are removed later than that', async () => {
    const { task } = await film();
    const taskFile = join(directory, task, 'task.json');
    await writeFile(taskFile, await readFile(taskFile));
    now += 11 * 60_000;
    await sweep();
    expect(await readdir(directory)).not.toContain(task);
  });

  it('is fetched in full although its removal cannot be brought forward', async () => {
    const { provider, task, bytes } = await film();
    const content = await fetchPart(provider, task, 'video');
    const folder = join(directory, task);
    const pieces: Uint8Array[] = [];
    for await (const piece of content?.body ?? []) {
      if (pieces.push(piece) > 1) continue;
      await rm(folder, { recursive: true });
      await writeFile(folder, 'no folder');
    }
    expect(bytes.equals(Buffer.concat(pieces))).toBe(true);
    await rm(folder);
  });

  it('has no last frame to fetch when none was asked for', async () => {
    const { provider, task } = await film();
    expect(await fetchPart(provider, task, 'last_frame')).toBeNull();
  });
});

describe('a task of the sandbox', () => {
  it('tells how far it is, and is gone on with by another process that never began it', async () => {
    const first = create();
    const task = await start(first, { durationSeconds: 15, resolution: '1080p' });
    const early = await report(first, task);
    expect(early).toMatchObject({ state: 'pending' });
    await first.close();
    await rm(join(directory, task, 'film'), { force: true });
    const second = create();
    await expect
      .poll(
        async () => {
          const told = await report(second, task);
          return told.state === 'pending' ? (told.progress ?? 0) : 100;
        },
        { timeout: 60_000 },
      )
      .toBeGreaterThan(0);
  });

  it.each([
    ['[sandbox:fail]', 'upstream_error'],
    ['[sandbox:moderated]', 'content_policy_violation'],
    ['[sandbox:rate_limit]', 'rate_limit_exceeded'],
  ])('fails without a film for %s', async (trigger, code) => {
    const provider = create();
    const task = await start(provider, { prompt: `A harbour ${trigger}` });
    expect(await report(provider, task)).toMatchObject({ state: 'failed', error: { code } });
    expect(await readdir(join(directory, task))).toEqual(['task.json']);
  });

  it('takes the time that it is told to, and ten minutes to stall', async () => {
    const provider = create();
    const slow = await start(provider, { prompt: 'A harbour [sandbox:slow=100]' });
    const stalled = await start(provider, { prompt: 'A harbour [sandbox:stall]' });
    now += 40_000;
    expect(await report(provider, slow)).toEqual({ state: 'pending', progress: 40 });
    now += 60_000;
    expect(await ended(provider, slow)).toEqual({ state: 'done' });
    expect(await report(provider, stalled)).toEqual({ state: 'pending', progress: 0 });
    now += 500_000;
    expect(await report(provider, stalled)).toMatchObject({
      state: 'failed',
      error: { code: 'upstream_error' },
    });
  });

  it('that nobody fetched in a day is removed, and then nobody knows it', async () => {
    const provider = create();
    const task = await start(provider, { prompt: '[sandbox:stall]' });
    await sweep();
    expect(await readdir(directory)).toContain(task);
    now += 25 * 3_600_000;
    await sweep();
    expect(await readdir(directory)).not.toContain(task);
    expect(await rejectionOf(report(provider, task))).toMatchObject({ failure: 'fatal' });
    expect(await rejectionOf(report(provider, '../../../etc/passwd'))).toMatchObject({ failure: 'fatal' });
  });

  it('never begins on an image that would occupy the decoder', async () => {
    const provider = create();
    const bomb = makeScans(800);
    const refused = start(provider, { inputs: [videoInput('first_frame', 'image/jpeg', bomb)] });
    expect(await rejectionOf(refused)).toMatchObject({
      code: 'invalid_parameter',
      cause: { problem: 'too_many_parts' },
    });
  });

  it('is refused when an input cannot be read, or no encoder is installed', async () => {
    const broken = videoInput('first_frame', 'image/png', Buffer.from('no picture'));
    expect(await rejectionOf(start(create(), { inputs: [broken] }))).toMatchObject({
      code: 'invalid_parameter',
      failure: 'fatal',
    });
    expect(await create().restMs?.()).toBe(0);
    const loadEncoder = (): Promise<never> => Promise.reject(new Error('Cannot find native binding'));
    expect(await rejectionOf(start(create({ loadEncoder })))).toMatchObject({
      message: expect.stringContaining('@napi-rs/webcodecs'),
      code: 'upstream_unavailable',
      failure: 'retry_other',
    });
    expect(await create({ loadEncoder }).restMs?.()).toBeGreaterThan(0);
  });

  it('whose film is being encoded is left, soon and without a trace, by a process that ends', async () => {
    const provider = create();
    const task = await start(provider, { durationSeconds: 30, resolution: '4k' });
    await expect
      .poll(
        async () => {
          const told = await report(provider, task);
          return told.state === 'pending' ? told.progress : null;
        },
        { timeout: 60_000 },
      )
      .toBeGreaterThan(0);
    await provider.close();
    expect(await readdir(join(directory, task))).toEqual(['task.json']);
  });

  it('fails when its film cannot be made', async () => {
    const provider = create();
    const task = await start(provider, {
      inputs: [videoInput('first_frame', 'image/png', await makeImage('png'))],
    });
    await provider.close();
    await rm(join(directory, task, 'film'), { force: true });
    await writeFile(join(directory, task, 'input-0.png'), 'broken since');
    expect(await ended(create(), task)).toMatchObject({ state: 'failed', error: { code: 'upstream_error' } });
  });
});

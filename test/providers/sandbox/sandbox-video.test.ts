import { ALL_FORMATS, BufferSource, EncodedPacketSink, Input } from 'mediabunny';
import sharp from 'sharp';
import { beforeEach, describe, expect, it } from 'vitest';
import { createSandboxVideo } from '../../../src/providers/sandbox/sandbox-video.ts';
import { measureVideo } from '../../../src/providers/video/measure-video.ts';
import {
  ratioProportion,
  type VideoProvider,
  videoRatios,
  type VideoReport,
  type VideoRequest,
  videoResolutions,
  videoSize,
} from '../../../src/providers/video/video-provider.ts';
import { makeImage, makeScans } from '../../media/input-images.ts';
import { noAbort, rejectionOf } from '../collect.ts';
import { collectBytes } from '../video/collect-bytes.ts';
import { nameOf, split } from '../video/edit-boxes.ts';
import { playingSeconds } from '../video/playing-seconds.ts';
import { readClip } from '../video/read-clip.ts';
import { videoInput, videoRequest } from '../video/video-builders.ts';

let now: number;
beforeEach(() => {
  now = Date.now();
});

const create = (): VideoProvider => createSandboxVideo({ clock: { now: () => now } });

const start = (different: Partial<VideoRequest> = {}, provider = create()): Promise<string> =>
  provider.start(videoRequest(different), { signal: noAbort() });

const report = (task: string, provider = create()): Promise<VideoReport> =>
  provider.report(task, { signal: noAbort() });

const fetchPart = (task: string, part: 'video' | 'last_frame' = 'video', signal = noAbort()) =>
  create().fetch(task, part, { request: { outputFormat: 'mp4' }, signal });

const bytesOf = async (
  task: string,
  part: 'video' | 'last_frame' = 'video',
): Promise<{ contentType: string; bytes: Buffer }> => {
  const content = await fetchPart(task, part);
  if (content === null) throw new Error(`there is no ${part}`);
  return { contentType: content.contentType, bytes: await collectBytes(content.body) };
};

const film = async (different: Partial<VideoRequest> = {}) => {
  const task = await start(different);
  expect(await report(task)).toEqual({ state: 'done' });
  return { task, ...(await bytesOf(task)) };
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
      pictures: await Array.fromAsync(new EncodedPacketSink(video).packets(), ({ type, timestamp }) => ({
        type,
        timestamp,
      })),
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

/**
 * Returns the profile and level that the decoder's configuration of a film claims, and those of the pictures' own parameters
 * (ISO/IEC 14496-15, 5.3.3.1 and 8.3.3.1), in hex.
 */
const levelsOf = (bytes: Buffer): { claimed: string; own: string } => {
  const isHevc = bytes.includes('hvcC');
  const at = bytes.indexOf(isHevc ? 'hvcC' : 'avcC');
  const configuration = bytes.subarray(at + 4, at - 4 + bytes.readUInt32BE(at - 4)).toString('hex');
  if (!isHevc)
    return { claimed: configuration.slice(2, 8), own: /^.{12}.{4}67(.{6})/.exec(configuration)![1]! };
  // Bytes that prevent a false start code are no part of the parameters.
  const parameters = configuration.slice(configuration.indexOf('420101')).replaceAll('000003', '0000');
  return { claimed: configuration.slice(2, 26), own: parameters.slice(6, 30) };
};

const fps = 24;

describe('a film of the sandbox', () => {
  it('has the asked length, size, ratio and sound, as MP4 with H.264 and its header in front', async () => {
    const { bytes, contentType } = await film({ durationSeconds: 4 });
    expect(contentType).toBe('video/mp4');
    expect(split(bytes).map(nameOf)).toEqual(['ftyp', 'moov', 'mdat']);
    expect(await measureVideo(bytes)).toEqual({ seconds: 4, width: 854, height: 480 });
    expect(await playingSeconds(bytes)).toBeCloseTo(4, 6);
    const found = await probe(bytes);
    // Whole packets of sound; no padding is left when the pictures end.
    expect(found.sound?.seconds).toBeLessThanOrEqual(4);
    expect(found).toMatchObject({
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
    expect(await probe(bytes)).toMatchObject({
      mimeType: 'video/quicktime',
      seconds: 4,
      claimed: 4,
      codec: 'avc',
      tag: 'avc1',
      width: 480,
      height: 854,
      sound: null,
    });
  });

  it('is HEVC under the tag that all players know in 4k', async () => {
    const { bytes } = await film({ resolution: '4k', durationSeconds: 15 });
    expect(await measureVideo(bytes)).toEqual({ seconds: 15, width: 3840, height: 2160 });
    expect(await probe(bytes)).toMatchObject({ seconds: 15, codec: 'hevc', tag: 'hvc1' });
  });

  it('has pictures at even times, and every second begins with a whole one', async () => {
    const { pictures } = await probe((await film({ durationSeconds: 30 })).bytes);
    expect(pictures.map(({ timestamp }) => Math.round(timestamp * fps * 1e6) / 1e6)).toEqual(
      Array.from({ length: 30 * fps }, (_, index) => index),
    );
    expect(pictures.filter((_, index) => index % fps === 0).every(({ type }) => type === 'key')).toBe(true);
  });

  it('needs no edit list', async () => {
    const { bytes } = await film();
    expect(bytes.includes('elst')).toBe(false);
  });

  it.each(
    videoResolutions.flatMap((resolution) =>
      videoRatios.filter((ratio) => ratio !== 'adaptive').map((ratio) => ({ resolution, ratio })),
    ),
  )(
    'says what its decoder needs, and has a last frame of its size, in $resolution and $ratio',
    async (size) => {
      const { task, bytes } = await film({ ...size, returnLastFrame: true });
      const { claimed, own } = levelsOf(bytes);
      expect(claimed).toBe(own);
      const { width, height } = await probe(bytes);
      expect({ width, height }).toEqual(videoSize(size.resolution, ratioProportion(size.ratio)));
      const lastFrame = await bytesOf(task, 'last_frame');
      expect(lastFrame.contentType).toBe('image/png');
      expect(await sharp(lastFrame.bytes).metadata()).toMatchObject({ width, height });
    },
  );

  it('has the colours that its header says', async () => {
    const { bytes } = await film();
    const input = new Input({ formats: ALL_FORMATS, source: new BufferSource(bytes) });
    const track = await input.getPrimaryVideoTrack();
    // The picture's brightness was made by the matrix of BT.601.
    const colourSpace = { primaries: 'bt709', transfer: 'bt709', matrix: 'smpte170m', fullRange: false };
    expect((await track?.getDecoderConfig())?.colorSpace).toMatchObject(colourSpace);
  });

  it.each([
    ['a first frame', 40, 40, '1:1'],
    ['a first frame that is a little wider than a documented ratio', 140, 100, '4:3'],
    ['a first frame that is wider than all of them', 400, 100, '21:9'],
    ['a first frame that is taller than all of them', 100, 400, '9:16'],
  ] as const)('takes the nearest ratio of %s', async (_what, width, height, ratio) => {
    const image = await makeImage('png', { width, height, colour: '#ff0000' });
    const { bytes } = await film({
      ratio: 'adaptive',
      inputs: [
        videoInput('last_frame', 'image/png', await makeImage('png', { width: 30, height: 50 })),
        videoInput('first_frame', 'image/png', image),
      ],
    });
    expect(await probe(bytes)).toMatchObject(videoSize('480p', ratioProportion(ratio)));
  });

  it.each([
    ['square.mp4', 2, 480, 480],
    ['wide.mp4', 1.5, 640, 480],
    ['longer.mp4', 4.5, 854, 480],
  ])(
    'keeps the length of the clip that it edits, and its nearest ratio: %s',
    async (name, seconds, width, height) => {
      const { bytes } = await film({
        durationSeconds: -1,
        ratio: 'adaptive',
        inputs: [videoInput('reference_video', 'video/mp4', await readClip(name))],
      });
      expect(await measureVideo(bytes)).toEqual({ seconds: expect.closeTo(seconds, 6), width, height });
      expect(await probe(bytes)).toMatchObject({ claimed: expect.closeTo(seconds, 6) });
      expect(await playingSeconds(bytes)).toBeCloseTo(seconds, 6);
    },
  );

  it('has no last frame to fetch when none was asked for', async () => {
    expect(await fetchPart(await start(), 'last_frame')).toBeNull();
  });

  it('is not joined to its end when nobody wants it any more', async () => {
    const gone = AbortSignal.abort(new Error('nobody wants it'));
    expect(await rejectionOf(fetchPart(await start(), 'video', gone))).toBe(gone.reason);
  });
});

describe('a task of the sandbox', () => {
  it('is gone on with by another process that never began it', async () => {
    const task = await start({}, create());
    expect(await report(task, create())).toEqual({ state: 'done' });
  });

  it('keeps no words of its request', async () => {
    expect(await start({ prompt: 'A harbour at dawn [sandbox:fail]' })).not.toContain('harbour');
  });

  it.each([
    ['[sandbox:fail]', 'upstream_error'],
    ['[sandbox:moderated]', 'content_policy_violation'],
    ['[sandbox:rate_limit]', 'rate_limit_exceeded'],
  ])('fails for %s', async (trigger, code) => {
    const task = await start({ prompt: `A harbour ${trigger}` });
    expect(await report(task)).toMatchObject({ state: 'failed', error: { code } });
  });

  it('takes the time that it is told to, and ten minutes to stall', async () => {
    const slow = await start({ prompt: 'A harbour [sandbox:slow=100]' });
    const stalled = await start({ prompt: 'A harbour [sandbox:stall]' });
    now += 40_000;
    expect(await report(slow)).toEqual({ state: 'pending', progress: 40 });
    now += 60_000;
    expect(await report(slow)).toEqual({ state: 'done' });
    expect(await report(stalled)).toEqual({ state: 'pending', progress: 0 });
    now += 500_000;
    expect(await report(stalled)).toMatchObject({ state: 'failed', error: { code: 'upstream_error' } });
  });

  it.each(['3kTMd7nHq2vXbLwZ0aYcRfPgJsUeKiNo', '../../../etc/passwd'])(
    'of the name %s is known to nobody',
    async (name) => {
      expect(await rejectionOf(report(name))).toMatchObject({ failure: 'fatal' });
      expect(await rejectionOf(fetchPart(name))).toMatchObject({ failure: 'fatal' });
    },
  );

  it('never begins on an image that would occupy the decoder', async () => {
    const bomb = makeScans(800);
    const refused = start({ inputs: [videoInput('first_frame', 'image/jpeg', bomb)] });
    expect(await rejectionOf(refused)).toMatchObject({
      code: 'invalid_parameter',
      cause: { problem: 'too_many_parts' },
    });
  });

  it('is refused when an input cannot be read', async () => {
    const broken = videoInput('first_frame', 'image/png', Buffer.from('no picture'));
    expect(await rejectionOf(start({ inputs: [broken] }))).toMatchObject({
      code: 'invalid_parameter',
      failure: 'fatal',
    });
  });
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { measureVideo } from '../../../src/providers/video/measure-video.ts';
import { rejectionOf } from '../collect.ts';
import { readClip } from './read-clip.ts';

let clip: Buffer;
beforeAll(async () => {
  clip = await readClip('plain.mp4');
});

/** The clip with a 32-bit number in every atom of this name, `offset` bytes after the name. */
const forged = (...changes: [atom: string, offset: number, value: number][]): Buffer => {
  const bytes = Buffer.from(clip);
  for (const [atom, offset, value] of changes)
    for (let at = bytes.indexOf(atom); at >= 0; at = bytes.indexOf(atom, at + 1))
      bytes.writeUInt32BE(value, at + offset);
  return bytes;
};

/** Of the tables' version 0. */
const duration = { mvhd: 20, mdhd: 20, tkhd: 24 };
const sampleTable = { sttsCount: 12, sttsDelta: 16, stszSize: 8, stszCount: 12 };

describe('the measure of a video', () => {
  it.each(['mp4', 'mov', 'webm'] as const)('is read from the bytes of a %s file', async (format) => {
    const bytes = await readClip(`wide.${format}`);
    const measure = await measureVideo(bytes);
    expect(measure).toMatchObject({ width: 96, height: 64 });
    expect(measure?.seconds).toBeCloseTo(1.5, 1);
  });

  it('is read from a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'causeway-measure-'));
    const file = join(folder, 'clip');
    await writeFile(file, clip);
    expect(await measureVideo(file)).toEqual(await measureVideo(clip));
    await rm(folder, { recursive: true });
    expect(await measureVideo(file)).toBeNull();
  });

  it('counts fragments, whose header says nothing of a length', async () => {
    const bytes = await readClip('fragments.mp4');
    expect((await measureVideo(bytes))?.seconds).toBeCloseTo(2, 1);
  });

  it('is as it is shown, where the picture is turned', async () => {
    const turned = Buffer.from(clip);
    // The matrix of a quarter turn in the header of the video's track.
    const matrix = turned.indexOf('tkhd') + 4 + 40;
    for (const [index, value] of [0, 0x10000, 0, -0x10000, 0, 0].entries())
      turned.writeInt32BE(value, matrix + index * 4);
    expect(await measureVideo(turned)).toMatchObject({ width: 36, height: 64 });
  });

  it.each([
    ['the file', () => forged(['mvhd', duration.mvhd, 1])],
    ['the media', () => forged(['mdhd', duration.mdhd, 1])],
    [
      'everything',
      () => forged(['mvhd', duration.mvhd, 1], ['mdhd', duration.mdhd, 1], ['tkhd', duration.tkhd, 1]),
    ],
  ])('goes by the samples when the header of %s claims less', async (_name, make) => {
    expect((await measureVideo(make()))?.seconds).toBeCloseTo(2, 1);
  });

  it('is null when the header of the media claims more', async () => {
    const timescale = clip.readUInt32BE(clip.indexOf('mdhd') + 16);
    expect(await measureVideo(forged(['mdhd', duration.mdhd, timescale * 9]))).toBeNull();
  });

  it.each([
    ['more than an hour', () => forged(['mdhd', duration.mdhd, 0xffff_fff0])],
    ['billions of samples', () => forged(['stsz', sampleTable.stszCount, 0xffff_fff0])],
    [
      'billions of pictures of one byte',
      () =>
        forged(
          ['stsz', sampleTable.stszSize, 1],
          ['stsz', sampleTable.stszCount, 0xffff_fff0],
          ['stts', sampleTable.sttsCount, 0xffff_fff0],
        ),
    ],
    ['a million pictures in no time', millionPictures],
    ['nothing', () => Buffer.alloc(0)],
    ['words', () => Buffer.from('words '.repeat(10_000))],
    ['a header without its table', () => Buffer.from(clip.subarray(0, 40))],
    ['a sound', soundAlone],
  ])('is null for a file of %s', async (_name, make) => {
    expect(await measureVideo(make())).toBeNull();
  });

  it('is given up when the caller aborts', async () => {
    const reason = new Error('enough');
    expect(await rejectionOf(measureVideo(clip, AbortSignal.abort(reason)))).toBe(reason);
  });
});

/** Sample tables and headers that agree on a thousandth of a second. */
function millionPictures(): Buffer {
  return forged(
    ['mvhd', duration.mvhd, 1],
    ['mdhd', duration.mdhd, 1],
    ['tkhd', duration.tkhd, 1],
    ['stsz', sampleTable.stszSize, 1],
    ['stsz', sampleTable.stszCount, 1_000_000],
    ['stts', sampleTable.sttsCount, 1_000_000],
    ['stts', sampleTable.sttsDelta, 0],
  );
}

/** A wave file of one second. */
function soundAlone(): Buffer {
  const header = Buffer.from(
    '524946462C1F000057415645666D74201000000001000100401F0000401F00000100080064617461001F0000',
    'hex',
  );
  return Buffer.concat([header, Buffer.alloc(8_000, 0x80)]);
}

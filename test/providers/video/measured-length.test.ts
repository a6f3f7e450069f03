import { beforeAll, describe, expect, it } from 'vitest';
import { measureVideo } from '../../../src/providers/video/measure-video.ts';
import { box, editBoxes, nameOf, split, writeInBoxes } from './edit-boxes.ts';
import {
  numbers,
  tables,
  timescaleOf,
  trackOf,
  withEdit,
  withHeaders,
  withOffsets,
  withoutEdits,
} from './edit-films.ts';
import { playingSeconds } from './playing-seconds.ts';
import { readClip } from './read-clip.ts';

const seconds = 2;

/** Pictures alone: one track, so that a change of its tables is a change of the film. */
let film: Buffer;
let withSound: Buffer;
let fragmented: Buffer;
/** Pictures alone, of which an edit shows the first 0.2 s. */
let cut: Buffer;
beforeAll(async () => {
  film = await readClip('pictures.mp4');
  withSound = await readClip('plain.mp4');
  fragmented = await readClip('picture-fragments.mp4');
  cut = withHeaders(withEdit(film, { seconds: 0.2, from: 0 }), 0.2);
});

const measuredSeconds = async (bytes: Buffer): Promise<number | null> =>
  (await measureVideo(bytes))?.seconds ?? null;

describe('the measured length', () => {
  it.each([
    ['an MP4', 'plain.mp4'],
    ['a MOV', 'plain.mov'],
    ['one with its header in front', 'header-first.mp4'],
    ['one with pictures out of their order', 'reordered.mp4'],
    ['the same at two pictures a second', 'reordered-slow.mp4'],
    ['the same without an edit list', 'reordered-without-edits.mp4'],
    ['one without an edit list', 'without-edits.mp4'],
    ['one whose sound begins with an empty edit', 'late-sound.mp4'],
    ['a MOV with sound that is not compressed', 'uncompressed-sound.mov'],
    ['one with offsets below zero', 'negative-offsets.mp4'],
    ['one whose sound and header are padded', 'padded-sound.mp4'],
    ['fragments', 'fragments.mp4'],
    ['fragments of MOV', 'fragments.mov'],
    ['fragments as for streaming', 'streaming.mp4'],
    ['fragments of one picture', 'one-picture-fragments.mp4'],
    ['one with words in its title', 'titled.mp4'],
    ['a MOV with words in its title', 'titled.mov'],
  ])('of %s is how long its pictures play', async (_what, name) => {
    const bytes = await readClip(name);
    const playing = await playingSeconds(bytes);
    expect(playing).toBeGreaterThan(seconds - 0.1);
    expect(await measuredSeconds(bytes)).toBeCloseTo(playing, 4);
  });

  it('of a clip of 4 s is 4 s, though its header says 4.022', async () => {
    const padded = await readClip('padded-sound.mp4');
    expect(padded.readUInt32BE(padded.indexOf('mvhd') + 20)).toBe(4_022);
    expect(await measuredSeconds(padded)).toBe(4);
  });

  it.each<[string, () => Buffer | Promise<Buffer>]>([
    ['samples in its header and more in fragments', () => readClip('header-and-fragments.mp4')],
    ['an edit that plays ten times', () => editBoxes(film, 'moov/trak/edts/elst', tenTimes)],
    [
      'an edit that plays slowly',
      () => writeInBoxes(film, 'moov/trak/edts/elst', (body) => body.writeUInt16BE(0, 16)),
    ],
    [
      'an edit that hides its beginning from some players',
      () =>
        writeInBoxes(film, 'moov/trak/edts/elst', (body) => body.writeUInt32BE(timescaleOf(film) * 1.5, 12)),
    ],
    [
      'an edit that hides its end from some players',
      () => writeInBoxes(film, 'moov/trak/edts/elst', (body) => body.writeUInt32BE(500, 8)),
    ],
    [
      'a second header',
      () => Buffer.concat([film, ...split(film).filter((whole) => nameOf(whole) === 'moov')]),
    ],
    [
      'a track beside its header',
      () => editBoxes(film, 'moov', (body) => Buffer.concat([box('moov', body), trackOf(film)])),
    ],
    [
      'a table where it is not looked for',
      () =>
        editBoxes(film, 'moov/udta', (body) =>
          box('udta', Buffer.concat([body, box('elst', Buffer.alloc(8))])),
        ),
    ],
    [
      'a header that is packed',
      () =>
        editBoxes(film, 'moov', (body) => box('moov', Buffer.concat([body, box('cmov', Buffer.alloc(8))]))),
    ],
    [
      'two tables of times',
      () =>
        editBoxes(film, `${tables}/stts`, (body) => Buffer.concat([box('stts', body), box('stts', body)])),
    ],
    [
      'times for half of its samples',
      () => writeInBoxes(film, `${tables}/stts`, (body) => body.writeUInt32BE(12, 8)),
    ],
    ['a sample without end', () => editBoxes(film, `${tables}/stts`, endless)],
    [
      'two tracks of one id',
      () => editBoxes(film, 'moov/trak', (body) => Buffer.concat([box('trak', body), box('trak', body)])),
    ],
    [
      'a tenth of the normal rate',
      () => writeInBoxes(film, 'moov/mvhd', (body) => body.writeUInt32BE(0x1999, 20)),
    ],
    [
      'fragments that its header does not announce',
      () => editBoxes(fragmented, 'moov/mvex', () => Buffer.alloc(0)),
    ],
    ['fragments that go back in time', () => restarted(fragmented)],
    [
      'a fragment of a track that is not there',
      () => writeInBoxes(fragmented, 'moof/traf/tfhd', (body) => body.writeUInt32BE(9, 4)),
    ],
    ['an edit of its fragments that hides their end', () => withEdit(fragmented, { seconds: 1, from: 0 })],
    [
      'an edit of its fragments that hides their end, which its headers tell too',
      () => withHeaders(withEdit(fragmented, { seconds: 1, from: 0 }), 1),
    ],
    [
      'an edit of its fragments that hides their beginning',
      () => withEdit(fragmented, { seconds: 0, from: 1.5 }),
    ],
    [
      'an edit of its fragments that tells how long it is and hides their beginning',
      () => withEdit(fragmented, { seconds: 0.5, from: 1.5 }),
    ],
    ['pictures before its beginning', () => withHeaders(withOffsets(withoutEdits(film), [[24, -1.5]]), 0.5)],
    [
      'all pictures but one before its beginning',
      () =>
        withHeaders(
          withOffsets(withoutEdits(film), [
            [1, 0],
            [23, -1.5],
          ]),
          0.5,
        ),
    ],
    [
      'pictures before its beginning, and an edit from there',
      () => withHeaders(withEdit(withOffsets(film, [[24, -1.5]]), { seconds: 0.5, from: 0 }), 0.5),
    ],
    [
      'pictures that show at the same time',
      () =>
        withHeaders(
          withOffsets(
            withoutEdits(film),
            Array.from({ length: 24 }, (_, index) => [1, -index / 24]),
          ),
          1,
        ),
    ],
    [
      'a sample so large that some players ignore its edit list',
      () => writeInBoxes(cut, `${tables}/stsz`, (body) => body.writeUInt32BE(0x4000_0000, 12 + 23 * 4)),
    ],
    [
      'sizes for some of its samples, so that some players ignore its edit list',
      () => {
        const soon = writeInBoxes(withSound, 'moov/mvhd', (body) => body.writeUInt32BE(10_000, 12));
        return editBoxes(soon, `${tables}/stsz`, (body) => box('stsz', body.subarray(0, 12 + 10 * 4)));
      },
    ],
    [
      'a chunk so far away that some players ignore its edit list',
      () => editBoxes(cut, `${tables}/stco`, () => box('co64', numbers(0, 1, 0x7fff_ffff, -1))),
    ],
    [
      'a last chunk so full that some players ignore its edit list',
      () => {
        const twoChunks = editBoxes(cut, `${tables}/stco`, () => box('stco', numbers(0, 2, 48, 48)));
        return editBoxes(twoChunks, `${tables}/stsc`, () => box('stsc', numbers(0, 1, 1, 20, 1)));
      },
    ],
    [
      'fragments of a track without defaults',
      async () =>
        editBoxes(await readClip('fragments.mp4'), 'moov/mvex/trex', (body) =>
          body.readUInt32BE(4) === 2 ? Buffer.alloc(0) : box('trex', body),
        ),
    ],
    [
      'a timescale that some players read as negative',
      () => {
        const scaled = writeInBoxes(film, 'moov/mvhd', (body) => body.writeUInt32BE(0xffff_ffff, 12));
        return writeInBoxes(scaled, 'moov/trak/edts/elst', (body) => body.writeUInt32BE(0x7fff_ffff, 8));
      },
    ],
    [
      'an edit behind those that its edit list counts',
      () =>
        editBoxes(cut, 'moov/trak/edts/elst', (body) => box('elst', Buffer.concat([body, body.subarray(8)]))),
    ],
    [
      'pictures without a duration, among others',
      () =>
        editBoxes(film, `${tables}/stts`, () => box('stts', numbers(0, 2, 6, 0, 18, timescaleOf(film) / 9))),
    ],
    [
      'pictures without a duration in one of its fragments',
      () => inThirdFragment(fragmented, 'tfhd', (body) => body.writeUInt32BE(0)),
    ],
    [
      'a box that is larger than the one around it',
      () => writeInBoxes(film, 'moov/trak', (body) => body.writeUInt32BE(body.length + 1)),
    ],
  ])('is not known of a film with %s', async (_what, make) => {
    expect(await measuredSeconds(await make())).toBeNull();
  });

  it.each<[string, () => Buffer]>([
    [
      'billions of samples in one chunk',
      () => writeInBoxes(film, `${tables}/stsc`, (body) => body.writeUInt32BE(0xeeee_eeee, 12)),
    ],
    [
      'billions of samples in a fragment',
      () => writeInBoxes(fragmented, 'moof/traf/trun', (body) => body.writeUInt32BE(0xeeee_eeee, 4)),
    ],
    ['a huge table of fragments', () => Buffer.concat([fragmented, hugeIndex()])],
  ])(
    'is given up at once of a film with %s',
    async (_what, make) => {
      expect(await measuredSeconds(make())).toBeNull();
    },
    // Sooner than the measuring thread would be ended.
    5_000,
  );

  it('ends with the last picture where that one alone has no duration', async () => {
    const times = box('stts', numbers(0, 2, 23, timescaleOf(film) / 12, 1, 0));
    const made = editBoxes(film, `${tables}/stts`, () => times);
    expect(await measuredSeconds(made)).toBeCloseTo(23 / 12, 4);
  });

  it('is that of its longest picture track', async () => {
    const longer = await readClip('pictures-4s.mp4');
    const second = writeInBoxes(trackOf(longer), 'trak/tkhd', (body) => body.writeUInt32BE(2, 12));
    const both = editBoxes(film, 'moov', (body) => box('moov', Buffer.concat([body, second])));
    expect(await measuredSeconds(both)).toBeCloseTo(4, 1);
  });

  it('is not confused by what phones put behind a film, or by space that nobody uses', async () => {
    const used = editBoxes(withSound, 'moov', (body) =>
      box('moov', Buffer.concat([body, box('free', trackOf(film))])),
    );
    // Larger than a header may be, as a camera's own pictures and texts are.
    const uuid = box('uuid', Buffer.alloc(17 * 1024 ** 2, 'moov'));
    const title = box('ilst', box('\u00a9nam', box('data', Buffer.from('a moov of titles'))));
    const trailer = Buffer.concat([Buffer.from('ffffffff', 'hex'), Buffer.from('SEFT trailer of a phone')]);
    expect(await measuredSeconds(Buffer.concat([used, uuid, box('udta', title), trailer]))).toBeCloseTo(
      seconds,
      1,
    );
  });
});

const tenTimes = (body: Buffer): Buffer => {
  const count = Buffer.alloc(8);
  count.writeUInt32BE(10, 4);
  return box('elst', Buffer.concat([count, ...Array.from({ length: 10 }, () => body.subarray(8, 20))]));
};

/** The last sample is taken out of the first entry and lasts as long as can be written. */
const endless = (body: Buffer): Buffer => {
  const entry = Buffer.alloc(8);
  entry.writeUInt32BE(1);
  entry.writeUInt32BE(0xffff_ffff, 4);
  const longer = Buffer.concat([body, entry]);
  longer.writeUInt32BE(longer.readUInt32BE(4) + 1, 4);
  longer.writeUInt32BE(longer.readUInt32BE(8) - 1, 8);
  return box('stts', longer);
};

/** One that the end of the file leads to. */
const hugeIndex = (): Buffer => {
  const index = box('mfra', box('tfra', Buffer.alloc(1024 ** 2)));
  index.writeUInt32BE(index.length, index.length - 4);
  return index;
};

/** Every fragment says that it is the first. */
const restarted = (bytes: Buffer): Buffer => writeInBoxes(bytes, 'moof/traf/tfdt', (body) => body.fill(0, 4));

/** With a change of the boxes of one name in the third fragment. */
const inThirdFragment = (bytes: Buffer, name: string, write: (body: Buffer) => void): Buffer => {
  let fragments = 0;
  return editBoxes(bytes, 'moof', (body) => {
    fragments += 1;
    const whole = box('moof', body);
    return fragments === 3 ? writeInBoxes(whole, `moof/traf/${name}`, write) : whole;
  });
};

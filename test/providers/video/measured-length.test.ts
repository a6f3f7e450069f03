import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { measureVideo } from '../../../src/providers/video/measure-video.ts';
import { box, editBoxes, nameOf, split, writeInBoxes } from './edit-boxes.ts';
import { muxFilm } from './mux-film.ts';
import { playingSeconds } from './playing-seconds.ts';
import { readClip } from './read-clip.ts';

const seconds = 2;
/** By so much codecs pad. */
const padding = 0.5;

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

  it('is not known where a header claims more than padding, and is that of the pictures where it claims less', async () => {
    const timescale = timescaleOf(film);
    const places: [path: string, at: number, unitsPerSecond: number][] = [
      ['moov/mvhd', 16, 1_000],
      ['moov/trak/tkhd', 20, 1_000],
      ['moov/trak/edts/elst', 8, 1_000],
      ['moov/trak/mdia/mdhd', 16, timescale],
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...places),
        fc.integer({ min: 1, max: 4_000 }),
        async ([path, at, unitsPerSecond], extraMs) => {
          const claimed = Math.round((seconds + extraMs / 1_000) * unitsPerSecond);
          const claiming = writeInBoxes(film, path, (body) => body.writeUInt32BE(claimed, at));
          const isPadding = claimed <= (seconds + padding) * unitsPerSecond;
          expect(await measuredSeconds(claiming)).toBe(isPadding ? seconds : null);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('is that of the pictures where the sound is no longer than padding, and else not known', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 48 }),
        fc.integer({ min: 1, max: 4_000 }),
        fc.boolean(),
        async (pictures, soundMs, isFragmented) => {
          const made = await muxFilm({ from: film, pictures, soundMs, isFragmented });
          const playing = pictures / 12;
          const isPadding = soundMs / 1_000 <= playing + padding;
          const measured = await measuredSeconds(made);
          if (isPadding) expect(measured).toBeCloseTo(playing, 3);
          else expect(measured).toBeNull();
        },
      ),
      {
        numRuns: 60,
        examples: [
          [48, 4_022, false],
          [48, 4_022, true],
          [48, 4_510, false],
        ],
      },
    );
  });

  it('heeds an edit list, wherever it begins and ends', async () => {
    const timescale = timescaleOf(film);
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 1_900 }),
        fc.integer({ min: 50, max: 2_000 }),
        async (fromMs, askedMs) => {
          const shownMs = Math.min(askedMs, 2_000 - fromMs);
          const trimmed = ['moov/mvhd', 'moov/trak/tkhd', 'moov/trak/edts/elst'].reduce(
            (bytes, path) =>
              writeInBoxes(bytes, path, (body) => {
                body.writeUInt32BE(shownMs, path.endsWith('elst') ? 8 : path.endsWith('tkhd') ? 20 : 16);
                if (path.endsWith('elst')) body.writeUInt32BE(Math.round((fromMs / 1_000) * timescale), 12);
              }),
            film,
          );
          const measured = (await measuredSeconds(trimmed)) ?? 0;
          expect(measured).toBeCloseTo(shownMs / 1_000, 2);
          // A player shows whole pictures.
          expect(Math.abs(measured - (await playingSeconds(trimmed)))).toBeLessThan(2 / 12 + 0.001);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('of fragments is that of all their pictures, whatever an edit hides, or is not known', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 1_900 }),
        fc.integer({ min: 0, max: 2_000 }),
        fc.boolean(),
        async (fromMs, shownMs, areHeadersChanged) => {
          const edited = withEdit(fragmented, { seconds: shownMs / 1_000, from: fromMs / 1_000 });
          const made = areHeadersChanged ? withHeaders(edited, shownMs / 1_000) : edited;
          expect(await playingSeconds(made)).toBeCloseTo(seconds, 2);
          const hidden = Math.max(fromMs, shownMs === 0 ? 0 : 2_000 - fromMs - shownMs);
          const measured = await measuredSeconds(made);
          // Times are rounded to the film's own units, so just at the limit it may be either.
          if (Math.abs(hidden - padding * 1_000) <= 1) return;
          if (hidden <= padding * 1_000) expect(measured).toBeCloseTo(seconds, 2);
          else expect(measured).toBeNull();
        },
      ),
      {
        numRuns: 60,
        examples: [
          [0, 0, false],
          [0, 2_000, true],
          [80, 0, true],
          [80, 1_900, false],
        ],
      },
    );
  });

  it('counts pictures before the beginning, or is not known where they are more than padding', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 1_900 }), fc.boolean(), async (beforeMs, hasEdit) => {
        const ends = (2_000 - beforeMs) / 1_000;
        const early = withOffsets(film, [[24, -beforeMs / 1_000]]);
        const made = withHeaders(
          hasEdit ? withEdit(early, { seconds: ends, from: 0 }) : withoutEdits(early),
          ends,
        );
        const measured = await measuredSeconds(made);
        if (beforeMs > padding * 1_000) expect(measured).toBeNull();
        else expect(measured).toBeCloseTo(await playingSeconds(made), 2);
      }),
      {
        numRuns: 60,
        examples: [
          [0, true],
          [400, true],
          [400, false],
        ],
      },
    );
  });

  it('is not confused by what phones put behind a film, or by space that nobody uses', async () => {
    const used = editBoxes(withSound, 'moov', (body) =>
      box('moov', Buffer.concat([body, box('free', trackOf(film))])),
    );
    const trailer = Buffer.concat([Buffer.from('ffffffff', 'hex'), Buffer.from('SEFT trailer of a phone')]);
    expect(await measuredSeconds(Buffer.concat([used, trailer]))).toBeCloseTo(seconds, 1);
  });

  it('is never less than what plays, whatever is changed in a header', async () => {
    let accepted = 0;
    const sources = [film, withSound, fragmented, cut];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(0, 1, 2, 3),
        fc.array(
          fc.record({
            place: fc.nat(),
            value: fc.oneof(fc.constantFrom(0, 1, 2, 10, 0xffff_ffff, 0x7fff_ffff), fc.nat(100_000)),
          }),
          { minLength: 1, maxLength: 2 },
        ),
        async (index, changes) => {
          const bytes = Buffer.from(sources[index] ?? film);
          const places = numbersIn(bytes);
          for (const { place, value } of changes) bytes.writeUInt32BE(value, places[place % places.length]);
          const measured = await measuredSeconds(bytes);
          if (measured === null) return;
          accepted += 1;
          expect(measured).toBeGreaterThan((await playingSeconds(bytes)) - 0.1);
        },
      ),
      { numRuns: 40, examples: [[2, [{ place: 1_476_993_739, value: 0 }]]] },
    );
    expect(accepted).toBeGreaterThan(5);
  });

  it('is never less than what plays, wherever its boxes are copied, moved or struck out', async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(0, 1, 2),
        fc.constantFrom('insert', 'replace', 'remove'),
        fc.tuple(fc.nat(), fc.nat()),
        async (index, how, [from, to]) => {
          const bytes = [film, withSound, fragmented][index] ?? film;
          const all = boxPaths(bytes);
          const [source, target] = [all[from % all.length] ?? [], all[to % all.length] ?? []];
          const moved = putBox(bytes, { source: boxAt(bytes, source), target, how });
          const measured = await measuredSeconds(moved);
          if (measured === null) return;
          accepted += 1;
          expect(measured).toBeGreaterThan((await playingSeconds(moved)) - 0.1);
        },
      ),
      { numRuns: 160 },
    );
    expect(accepted).toBeGreaterThan(3);
  });

  it('is a number or null for any bytes in the place of a header, and soon', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(0, 1, 2),
        fc.array(fc.tuple(fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 12 })), { minLength: 1 }),
        fc.nat(),
        async (index, changes, cut) => {
          const bytes = Buffer.from([film, withSound, fragmented][index] ?? film);
          const places = numbersIn(bytes);
          for (const [place, value] of changes)
            bytes.set(value.slice(0, 4), places[place % places.length] ?? 0);
          const measured = await measuredSeconds(
            cut % 3 === 0 ? bytes.subarray(0, cut % bytes.length) : bytes,
          );
          if (measured !== null) expect(measured).toBeGreaterThan(0);
        },
      ),
      { numRuns: 200 },
    );
  });
});

const tables = 'moov/trak/mdia/minf/stbl';

const numbers = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeInt32BE(value, 4 * index);
  return bytes;
};

/** With one edit in place of what its track has. */
const withEdit = (bytes: Buffer, { seconds, from }: { seconds: number; from: number }): Buffer => {
  const fromUnits = Math.round(from * timescaleOf(bytes));
  const list = box('elst', numbers(0, 1, Math.round(seconds * movieTimescaleOf(bytes)), fromUnits, 0x1_0000));
  const plain = bytes.includes('elst') ? withoutEdits(bytes) : bytes;
  return editBoxes(plain, 'moov/trak/tkhd', (body) => Buffer.concat([box('tkhd', body), box('edts', list)]));
};

const withoutEdits = (bytes: Buffer): Buffer => editBoxes(bytes, 'moov/trak/edts', () => Buffer.alloc(0));

/** With so many samples so many seconds later than they are decoded, run by run. */
const withOffsets = (bytes: Buffer, runs: [count: number, seconds: number][]): Buffer => {
  const entries = runs.flatMap(([count, seconds]) => [count, Math.round(seconds * timescaleOf(bytes))]);
  const offsets = box('ctts', numbers(0x100_0000, runs.length, ...entries));
  return editBoxes(bytes, `${tables}/stts`, (body) => Buffer.concat([box('stts', body), offsets]));
};

/** With this length in every header that tells one. */
const withHeaders = (bytes: Buffer, seconds: number): Buffer =>
  [
    { path: 'moov/mvhd', at: 16, timescale: movieTimescaleOf(bytes) },
    { path: 'moov/trak/tkhd', at: 20, timescale: movieTimescaleOf(bytes) },
    { path: 'moov/trak/mdia/mdhd', at: 16, timescale: timescaleOf(bytes) },
  ].reduce(
    (changed, { path, at, timescale }) =>
      writeInBoxes(changed, path, (body) => body.writeUInt32BE(Math.round(seconds * timescale), at)),
    bytes,
  );

const movieTimescaleOf = (bytes: Buffer): number => bytes.readUInt32BE(bytes.indexOf('mvhd') + 16);

const timescaleOf = (bytes: Buffer): number => bytes.readUInt32BE(bytes.indexOf('mdhd') + 16);

const trackOf = (bytes: Buffer): Buffer => {
  const header = split(bytes).find((whole) => nameOf(whole) === 'moov') ?? Buffer.alloc(8);
  return split(header.subarray(8)).find((whole) => nameOf(whole) === 'trak') ?? Buffer.alloc(0);
};

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

/** Where the 32-bit numbers of the headers stand: all that is no `mdat`. */
const numbersIn = (bytes: Buffer): number[] => {
  const places: number[] = [];
  let at = 0;
  for (const whole of split(bytes)) {
    if (nameOf(whole) !== 'mdat' && nameOf(whole) !== 'ftyp')
      for (let place = at; place + 4 <= at + whole.length; place += 4) places.push(place);
    at += whole.length;
  }
  return places;
};

const containers = new Set(['moov', 'trak', 'edts', 'mdia', 'minf', 'stbl', 'udta', 'mvex', 'moof', 'traf']);

/** Where each box stands but the media: its position, in a box its position in that, and so on. */
const boxPaths = (bytes: Buffer): number[][] =>
  split(bytes).flatMap((whole, index) => {
    if (nameOf(whole) === 'mdat' || nameOf(whole) === 'ftyp') return [];
    const inside = containers.has(nameOf(whole)) ? boxPaths(whole.subarray(8)) : [];
    return [[index], ...inside.map((path) => [index, ...path])];
  });

const boxAt = (bytes: Buffer, [index = 0, ...rest]: number[]): Buffer => {
  const whole = split(bytes)[index] ?? Buffer.alloc(0);
  return rest.length === 0 ? whole : boxAt(whole.subarray(8), rest);
};

/** The file with a box before the one at `target`, or in its place, or without either. */
const putBox = (
  bytes: Buffer,
  { source, target, how }: { source: Buffer; target: number[]; how: 'insert' | 'replace' | 'remove' },
): Buffer => {
  const [index = 0, ...rest] = target;
  const put = (whole: Buffer): Buffer[] => {
    if (rest.length > 0)
      return [box(nameOf(whole), putBox(whole.subarray(8), { source, target: rest, how }))];
    if (how === 'remove') return [];
    return how === 'insert' ? [source, whole] : [source];
  };
  return Buffer.concat(split(bytes).flatMap((whole, at) => (at === index ? put(whole) : [whole])));
};

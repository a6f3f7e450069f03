import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { measureVideo } from '../../../src/providers/video/measure-video.ts';
import { box, editBoxes, nameOf, split, writeInBoxes } from './edit-boxes.ts';
import { makeClip } from './make-clip.ts';
import { playingSeconds } from './playing-seconds.ts';

const seconds = 2;
const withoutSound = ['-an', '-bf', '0', '-g', '6'];

/** Pictures alone: one track, so that a change of its tables is a change of the film. */
let film: Buffer;
let withSound: Buffer;
let fragmented: Buffer;
beforeAll(async () => {
  film = await makeClip({ seconds, flags: withoutSound });
  withSound = await makeClip({ seconds });
  fragmented = await makeClip({
    seconds,
    flags: [...withoutSound, '-movflags', 'frag_keyframe+empty_moov'],
  });
});

const measuredSeconds = async (bytes: Buffer): Promise<number | null> =>
  (await measureVideo(bytes))?.seconds ?? null;

describe('the measured length', () => {
  it.each<[string, 'mp4' | 'mov', string[]]>([
    ['an MP4', 'mp4', []],
    ['a MOV', 'mov', []],
    ['one with its header in front', 'mp4', ['-movflags', 'faststart']],
    ['one with pictures out of their order', 'mp4', ['-preset', 'medium', '-bf', '3']],
    ['the same at two pictures a second', 'mp4', ['-preset', 'medium', '-bf', '3', '-r', '2']],
    ['one without an edit list', 'mp4', ['-use_editlist', '0']],
    ['one that begins with an empty edit', 'mp4', ['-af', 'asetpts=PTS+0.4/TB']],
    ['a MOV with sound that is not compressed', 'mov', ['-c:a', 'pcm_s16le']],
    ['one with offsets below zero', 'mp4', ['-preset', 'medium', '-movflags', 'negative_cts_offsets']],
    ['fragments', 'mp4', ['-movflags', 'frag_keyframe+empty_moov', '-g', '6']],
    ['fragments of MOV', 'mov', ['-movflags', 'frag_keyframe+empty_moov', '-g', '6']],
    ['fragments as for streaming', 'mp4', ['-movflags', 'dash+frag_keyframe+default_base_moof', '-g', '6']],
    [
      'one with words in its title',
      'mp4',
      ['-metadata', 'title=Night traffic, an elephant trunk, Edelstein'],
    ],
    [
      'a MOV with words in its title',
      'mov',
      ['-metadata', 'title=Night traffic, an elephant trunk, Edelstein'],
    ],
    ['fragments of one picture', 'mp4', ['-movflags', 'empty_moov+frag_every_frame']],
  ])('of %s is how long it plays', async (_what, format, flags) => {
    const bytes = await makeClip({ seconds, format, flags });
    const playing = await playingSeconds(bytes);
    expect(playing).toBeGreaterThan(seconds - 0.1);
    expect(Math.abs(((await measuredSeconds(bytes)) ?? 0) - playing)).toBeLessThan(0.1);
  });

  it.each<[string, () => Buffer | Promise<Buffer>]>([
    [
      'samples in its header and more in fragments',
      () => makeClip({ seconds, flags: [...withoutSound, '-movflags', 'frag_keyframe'] }),
    ],
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

  it('is that of its longest track', async () => {
    const longer = await makeClip({ seconds: 4, flags: withoutSound });
    const second = writeInBoxes(trackOf(longer), 'trak/tkhd', (body) => body.writeUInt32BE(2, 12));
    const both = editBoxes(film, 'moov', (body) => box('moov', Buffer.concat([body, second])));
    expect(await measuredSeconds(both)).toBeCloseTo(4, 1);
  });

  it('is what any of its headers claims, where that is more', async () => {
    for (const [path, at] of [
      ['moov/mvhd', 16],
      ['moov/trak/tkhd', 20],
      ['moov/trak/edts/elst', 8],
    ] as const) {
      const claiming = writeInBoxes(film, path, (body) => body.writeUInt32BE(9_000, at));
      expect(await measuredSeconds(claiming)).toBeCloseTo(9, 1);
    }
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
    const sources = [film, withSound, fragmented];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(0, 1, 2),
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
      { numRuns: 40 },
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
      { numRuns: 40 },
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

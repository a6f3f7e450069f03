import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { measureVideo } from '../../../src/providers/video/measure-video.ts';
import { box, nameOf, split, writeInBoxes } from './edit-boxes.ts';
import { tables, timescaleOf, withEdit, withHeaders, withOffsets, withoutEdits } from './edit-films.ts';
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

  it('is never less than what plays, whichever box hides the header of a longer film', async () => {
    const plain = withoutEdits(film);
    const slow = writeInBoxes(plain, `${tables}/stts`, (body) =>
      body.writeUInt32BE(2 * body.readUInt32BE(12), 12),
    );
    const header = split(withHeaders(slow, 2 * seconds)).find((whole) => nameOf(whole) === 'moov');
    if (header === undefined) throw new Error('there is no header');
    const first = boxPaths(plain).find((path) => path.length === 2) ?? [];
    const handler = box('hdlr', Buffer.from('\0\0\0\0\0\0\0\0mdirappl\0\0\0\0\0\0\0\0\0', 'latin1'));
    const played = new Set<number>();
    const bodies: Record<string, Buffer> = {
      hoov: header.subarray(8),
      meta: Buffer.concat([Buffer.alloc(4), handler, header]),
    };
    for (const name of hiding)
      for (const source of [
        box(name, bodies[name] ?? header),
        box('ilst', box(name, bodies[name] ?? header)),
      ])
        for (const target of [[1], first]) {
          const made = putBox(plain, { source, target, how: 'insert' });
          const playing = await playingSeconds(made);
          played.add(Math.round(playing));
          const measured = await measuredSeconds(made);
          if (measured !== null) expect([name, measured > playing - 0.1]).toEqual([name, true]);
        }
    expect(played).toContain(2 * seconds);
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

/** Names of boxes, in some of which a player looks for others. */
const hiding = [
  ...['udta', 'meta', 'ilst', 'dinf', 'tref', 'schi', 'sinf', 'wave', 'stsd', 'iprp', 'hoov'],
  ...['edts', 'uuid', '\u00a9nam'],
];

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

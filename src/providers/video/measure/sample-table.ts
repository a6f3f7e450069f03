import { DoubtfulFilm, readChildren } from './boxes.ts';

/** The times of a track's samples, in the track's own time. */
export interface Span {
  /** Begin of the sample that shows first. */
  first: number;
  /** End of the sample that ends last. */
  end: number;
  longest: number;
  /** Sum of the lengths of all samples. */
  total: number;
  /** True when each sample is decoded later than the one before it, and the chunks hold no more than all samples. */
  isCertain: boolean;
}

interface Run {
  count: number;
  value: number;
}

/** An hour at 120 pictures a second. Each sample is read when they are out of order. */
const maxReordered = 500_000;
/** Limit for samples of different sizes, because a player adds up their sizes again for each of them. */
const maxInChunk = 10_000;
/** Some players read larger values as negative. */
const maxDelta = 0x7fff_ffff;
/** At a larger size or offset, FFmpeg stops reading the table and ignores the edit list. */
const maxNumber = 0x3fff_ffff;

/** Reads the body of a `stbl`; null when it has no samples. Throws DoubtfulFilm when its tables contradict each other. */
export const readSampleTable = (body: Buffer): Span | null => {
  const tables = readChildren(body, ['stts', 'ctts', 'stsz', 'stz2', 'stsc', 'stco', 'co64']);
  const times = readRuns(tables.get('stts'), (entry) => entry.readUInt32BE(4));
  const composition = tables.find('ctts');
  const offsets = composition === null ? [] : readRuns(composition, (entry) => entry.readInt32BE(4));
  const sizes = tables.find('stsz');
  const count = (sizes ?? tables.get('stz2')).readUInt32BE(8);
  if (sizes !== null && tables.find('stz2') !== null) throw new DoubtfulFilm('two tables of sizes');
  if (times.some(({ value }) => value > maxDelta)) throw new DoubtfulFilm('a sample without end');
  // At the end of one table, some players go on with the other.
  if (countOf(times) !== count || countOf(offsets) > count)
    throw new DoubtfulFilm('the number of times is not that of the samples');
  if (count === 0) return null;
  if (offsets.length > 0 && count > maxReordered) throw new DoubtfulFilm('too many samples');
  const chunks = tables.find('stco');
  if (chunks !== null && tables.find('co64') !== null) throw new DoubtfulFilm('two tables of chunks');
  const isUniform = sizes !== null && sizes.readUInt32BE(4) > 0;
  const chunkCount = (chunks ?? tables.get('co64')).readUInt32BE(4);
  if (sizes !== null)
    assertSmall(sizes, isUniform ? { at: 4, count: 1, step: 4 } : { at: 12, count, step: 4 });
  if (chunks === null) assertSmall(tables.get('co64'), { at: 8, count: chunkCount, step: 8 });
  const held = readChunks(tables.get('stsc'), {
    chunks: chunkCount,
    samples: count,
    maxInEach: isUniform ? count : Math.min(count, maxInChunk),
  });
  const span = spanOf(times, offsets);
  return { ...span, isCertain: span.isCertain && held <= count };
};

const readRuns = (body: Buffer, valueOf: (entry: Buffer) => number): Run[] => {
  const count = body.readUInt32BE(4);
  if (count > (body.length - 8) / 8) throw new DoubtfulFilm('a table is longer than its box');
  const runs: Run[] = [];
  for (let at = 8; at < 8 + count * 8; at += 8) {
    const entry = body.subarray(at, at + 8);
    if (entry.readUInt32BE(0) > 0) runs.push({ count: entry.readUInt32BE(0), value: valueOf(entry) });
  }
  return runs;
};

const countOf = (runs: readonly Run[]): number => runs.reduce((sum, { count }) => sum + count, 0);

/** Throws DoubtfulFilm when a number is too large, and RangeError when there are fewer than `count`. */
const assertSmall = (
  body: Buffer,
  { at, count, step }: { at: number; count: number; step: number },
): void => {
  for (let index = 0; index < count; index += 1)
    if (body.readUInt32BE(at + index * step) > maxNumber) throw new DoubtfulFilm('a number is too large');
};

/**
 * Returns how many samples the chunks hold. Players read sound by chunks. Except for the last one, they must not hold more
 * samples than the other tables.
 */
const readChunks = (
  body: Buffer,
  { chunks, samples, maxInEach }: { chunks: number; samples: number; maxInEach: number },
): number => {
  const entries = body.readUInt32BE(4);
  if (entries > (body.length - 8) / 12) throw new DoubtfulFilm('a table is longer than its box');
  let held = 0;
  let inLast = 0;
  let next = chunks + 1;
  for (let at = 8 + (entries - 1) * 12; at >= 8; at -= 12) {
    const first = body.readUInt32BE(at);
    if (first < 1 || (first >= next && next <= chunks)) throw new DoubtfulFilm('chunks out of order');
    const inEach = body.readUInt32BE(at + 4);
    if (inEach > maxInEach) throw new DoubtfulFilm('too many samples in a chunk');
    if (first > chunks) continue;
    if (next > chunks) inLast = inEach;
    held += (next - first) * inEach;
    next = first;
  }
  if (held - inLast >= samples && held > samples) throw new DoubtfulFilm('more chunks than samples');
  return held;
};

const spanOf = (times: readonly Run[], offsets: readonly Run[]): Span => {
  const span = { first: Infinity, end: -Infinity, longest: 0 };
  let time = 0;
  let position = 0;
  let offsetLeft = offsets[0]?.count ?? Infinity;
  for (const { count, value: delta } of times) {
    span.longest = Math.max(span.longest, delta);
    for (let left = count; left > 0;) {
      const taken = Math.min(left, offsetLeft);
      const offset = offsets[position]?.value ?? 0;
      span.first = Math.min(span.first, time + offset);
      time += taken * delta;
      span.end = Math.max(span.end, time + offset);
      left -= taken;
      offsetLeft -= taken;
      if (offsetLeft > 0) continue;
      position += 1;
      offsetLeft = offsets[position]?.count ?? Infinity;
    }
  }
  // The last sample alone may have no duration (ISO/IEC 14496-12, 8.6.1.1).
  const isCertain = times.every(
    ({ count, value }, index) => value > 0 || (count === 1 && index === times.length - 1),
  );
  return { ...span, total: time, isCertain };
};

import { box, editBoxes, nameOf, split, writeInBoxes } from './edit-boxes.ts';

export const tables = 'moov/trak/mdia/minf/stbl';

export const numbers = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeInt32BE(value, 4 * index);
  return bytes;
};

/** With one edit in place of what its track has. */
export const withEdit = (bytes: Buffer, { seconds, from }: { seconds: number; from: number }): Buffer => {
  const fromUnits = Math.round(from * timescaleOf(bytes));
  const list = box('elst', numbers(0, 1, Math.round(seconds * movieTimescaleOf(bytes)), fromUnits, 0x1_0000));
  const plain = bytes.includes('elst') ? withoutEdits(bytes) : bytes;
  return editBoxes(plain, 'moov/trak/tkhd', (body) => Buffer.concat([box('tkhd', body), box('edts', list)]));
};

export const withoutEdits = (bytes: Buffer): Buffer =>
  editBoxes(bytes, 'moov/trak/edts', () => Buffer.alloc(0));

/** With so many samples so many seconds later than they are decoded, run by run. */
export const withOffsets = (bytes: Buffer, runs: [count: number, seconds: number][]): Buffer => {
  const entries = runs.flatMap(([count, seconds]) => [count, Math.round(seconds * timescaleOf(bytes))]);
  const offsets = box('ctts', numbers(0x100_0000, runs.length, ...entries));
  return editBoxes(bytes, `${tables}/stts`, (body) => Buffer.concat([box('stts', body), offsets]));
};

/** With this length in every header that tells one. */
export const withHeaders = (bytes: Buffer, seconds: number): Buffer =>
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

export const timescaleOf = (bytes: Buffer): number => bytes.readUInt32BE(bytes.indexOf('mdhd') + 16);

export const trackOf = (bytes: Buffer): Buffer => {
  const header = split(bytes).find((whole) => nameOf(whole) === 'moov') ?? Buffer.alloc(8);
  return split(header.subarray(8)).find((whole) => nameOf(whole) === 'trak') ?? Buffer.alloc(0);
};

import { makeImage } from '../../media/input-images.ts';
import { box } from '../video/edit-boxes.ts';

interface Item {
  /** What its `ispe` says. */
  width: number;
  height: number;
  /** Overlay or grid of these items, by place from 1. Without it: a picture of one colour, 64 by 64. */
  made?: { type: 'grid' | 'iovl'; rows: number; columns: number; of: number[] };
  /** The times that its bytes repeat its only frame. */
  frames?: number;
  /** The item that it is the transparency of. */
  alphaOf?: number;
}

export const tileSide = 64;

const u16 = (...values: number[]): Buffer =>
  Buffer.from(values.flatMap((value) => [value >> 8, value & 0xff]));
const u32 = (...values: number[]): Buffer =>
  Buffer.concat(values.map((value) => u16(Math.floor(value / 2 ** 16), value % 2 ** 16)));
const full = (name: string, ...parts: Buffer[]): Buffer => box(name, Buffer.concat([u32(0), ...parts]));
const auxiliary = 'urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0';

/** An AVIF of these items, the first of which is shown. `properties` are more of it. */
export const makeAvif = async (
  items: readonly Item[],
  properties: readonly Buffer[] = [],
): Promise<Buffer> => {
  const source = await makeImage('avif', { width: tileSide, height: tileSide });
  const partOf = (name: string): Buffer => {
    const at = source.indexOf(name) - 4;
    return source.subarray(at, at + (source.readUInt32BE(at) || source.length));
  };
  const bodies = items.map(({ width, height, made, frames = 1 }) => {
    if (made === undefined) return Buffer.concat(Array<Buffer>(frames).fill(partOf('mdat').subarray(8)));
    const { type, rows, columns, of } = made;
    if (type === 'grid')
      return Buffer.concat([Buffer.from([0, 0, rows - 1, columns - 1]), u16(width, height)]);
    return Buffer.concat([u16(0, 0, 0, 0, 0, width, height), ...of.map(() => u16(0, 0))]);
  });
  const references = items.flatMap(({ made, alphaOf }, index) => [
    ...(made === undefined ? [] : [box('dimg', u16(index + 1, made.of.length, ...made.of))]),
    ...(alphaOf === undefined ? [] : [box('auxl', u16(index + 1, 1, alphaOf))]),
  ]);
  const common = [
    partOf('av1C'),
    full('pixi', Buffer.from([3, 8, 8, 8])),
    full('auxC', Buffer.from(auxiliary)),
  ];
  const sizes = [...new Set(items.map(({ width, height }) => `${width}x${height}`))];
  const sizeBoxes = sizes.map((size) => full('ispe', u32(...size.split('x').map(Number))));
  const associations = items.map(({ width, height, made, alphaOf }, index) => {
    const places = [
      common.length + 1 + sizes.indexOf(`${width}x${height}`),
      ...(made === undefined ? [0x81] : []),
      ...(alphaOf === undefined ? [2] : [3]),
      ...(index > 0 ? [] : properties.map((_one, place) => common.length + sizes.length + 1 + place)),
    ];
    return Buffer.concat([u16(index + 1), Buffer.from([places.length, ...places])]);
  });
  const header = (mediaAt: number): Buffer => {
    const places = bodies.map((body, index) => {
      const before = bodies.slice(0, index).reduce((sum, { length }) => sum + length, mediaAt);
      return Buffer.concat([u16(index + 1, 0, 1), u32(before, body.length)]);
    });
    const infos = items.map(({ made }, index) =>
      box('infe', Buffer.concat([u32(2 ** 25), u16(index + 1, 0), Buffer.from(`${made?.type ?? 'av01'}\0`)])),
    );
    return Buffer.concat([
      box('ftyp', Buffer.from('avif\0\0\0\0avifmif1')),
      full(
        'meta',
        full('hdlr', u32(0), Buffer.from('pict'), Buffer.alloc(13)),
        full('pitm', u16(1)),
        full('iloc', Buffer.from([0x44, 0]), u16(items.length), ...places),
        full('iinf', u16(items.length), ...infos),
        full('iref', ...references),
        box(
          'iprp',
          Buffer.concat([
            box('ipco', Buffer.concat([...common, ...sizeBoxes, ...properties])),
            full('ipma', u32(items.length), ...associations),
          ]),
        ),
      ),
    ]);
  };
  return Buffer.concat([header(header(0).length + 8), box('mdat', Buffer.concat(bodies))]);
};

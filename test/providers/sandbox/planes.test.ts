import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toPlanes, toRgb, zoomed } from '../../../src/providers/sandbox/video/encode/planes.ts';

const size = { width: 6, height: 4 };
const colour = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255));

const plain = (rgb: readonly number[]): Uint8Array =>
  Uint8Array.from({ length: size.width * size.height * 3 }, (_, index) => rgb[index % 3] ?? 0);

describe('a picture of a film', () => {
  it.each([
    ['white', [255, 255, 255], [235, 128, 128]],
    ['black', [0, 0, 0], [16, 128, 128]],
    ['red', [255, 0, 0], [63, 102, 240]],
    ['blue', [0, 0, 255], [32, 240, 118]],
  ])('that is %s has the brightness and colours of BT.709', (_name, rgb, [bright = 0, blue = 0, red = 0]) => {
    const planes = toPlanes(plain(rgb), size);
    expect([...planes]).toEqual([
      ...Array.from({ length: 24 }, () => bright),
      ...Array.from({ length: 6 }, () => blue),
      ...Array.from({ length: 6 }, () => red),
    ]);
  });

  it('comes back from its planes as it was, to the rounding', () => {
    fc.assert(
      fc.property(colour, (rgb) => {
        const back = toRgb(toPlanes(plain(rgb), size), size);
        for (const [index, value] of plain(rgb).entries())
          expect(Math.abs((back[index] ?? 0) - value)).toBeLessThanOrEqual(3);
      }),
    );
  });

  it('is itself without a zoom, and keeps its one colour with any', () => {
    fc.assert(
      fc.property(colour, fc.double({ min: 1, max: 3, noNaN: true }), (rgb, zoom) => {
        const planes = toPlanes(plain(rgb), size);
        expect(zoomed(planes, size, zoom)).toEqual(planes);
      }),
    );
    const mixed = Uint8Array.from({ length: 36 }, (_, index) => (index * 37) % 256);
    expect(zoomed(mixed, size, 1)).toEqual(mixed);
    expect(zoomed(mixed, size, 2)).not.toEqual(mixed);
  });
});

import type Sharp from 'sharp';
import { once } from '../../kit/once.ts';

export type SharpModule = typeof Sharp;

/** What may be decoded: strangers send these bytes, and the library reads a dozen formats more, SVG among them. */
const openLoaders = ['Png', 'Jpeg', 'Webp', 'Nsgif', 'Heif'].map((name) => `VipsForeignLoad${name}`);

/**
 * The image library, loaded when first needed (0.1 s). From then on the whole process decodes PNG, JPEG, WebP, GIF and
 * HEIF (AVIF) from memory and nothing else. Its work runs on Node's thread pool, so it is for `decode-image.ts` to call, which bounds it.
 */
export const loadSharp = once(async (): Promise<SharpModule> => {
  const { default: sharp } = await import('sharp');
  // Only before the first decoding: while all are blocked, one that runs would take its image for broken.
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: openLoaders });
  // Customers' pictures are not kept for the next one.
  sharp.cache(false);
  // One thread a picture: turns, not threads, decide how much of the machine pictures take.
  sharp.concurrency(1);
  return sharp;
});

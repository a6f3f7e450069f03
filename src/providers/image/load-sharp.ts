import type Sharp from 'sharp';
import { memoizeAsync } from '../../kit/memoize-async.ts';

export type SharpModule = typeof Sharp;

/** The formats that may be decoded. The library reads a dozen more, such as SVG, which are too risky for foreign files. */
const openLoaders = ['Png', 'Jpeg', 'Webp', 'Nsgif', 'Heif'].map((name) => `VipsForeignLoad${name}`);

/**
 * Loads the image library with the first call (0.1 s). From then on the whole process decodes only PNG, JPEG, WebP, GIF and
 * HEIF (AVIF), from memory. Only `decode-image.ts` calls it, because the work runs on Node's thread pool and must be
 * bounded.
 */
export const loadSharp = memoizeAsync(async (): Promise<SharpModule> => {
  const { default: sharp } = await import('sharp');
  // Must come before the first decoding: an image that is decoded while all formats are blocked counts as broken.
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: openLoaders });
  // Do not cache the pictures of customers.
  sharp.cache(false);
  // One thread for each picture: `decode-image.ts` limits how many are decoded at once.
  sharp.concurrency(1);
  return sharp;
});

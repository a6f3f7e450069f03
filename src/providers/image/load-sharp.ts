import type Sharp from 'sharp';

export type SharpModule = typeof Sharp;

/** What may be decoded: strangers send these bytes, and the library reads a dozen formats more, SVG among them. */
const openLoaders = ['VipsForeignLoadPng', 'VipsForeignLoadJpeg', 'VipsForeignLoadWebp'];

/**
 * The image library, loaded when first needed (0.1 s). From then on the whole process decodes PNG, JPEG and WebP from
 * memory and nothing else. Its work runs on Node's thread pool, so it is for `decode-image.ts` to call, which bounds it.
 */
export const loadSharp = async (): Promise<SharpModule> => {
  const { default: sharp } = await import('sharp');
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: openLoaders });
  // Customers' pictures are not kept for the next one.
  sharp.cache(false);
  // One thread a picture: turns, not threads, decide how much of the machine pictures take.
  sharp.concurrency(1);
  return sharp;
};

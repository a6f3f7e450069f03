import { maxInputBytes } from '../../media/fetch-input.ts';
import { refuseInput } from '../../media/refuse-input.ts';
import { takeAll } from '../media/take-all.ts';
import type { AccountCall, Services } from '../operation.ts';
import type { ImageJobInput } from './run-image.ts';

/** The deadline for all images of a request, from the first download to the last saved byte. */
const deadlineMs = 30_000;
/** The images of one request that are downloaded at once. Each may take 20 MB of memory. */
const atOnce = 4;
/** The limit of all images of one request. They go upstream in one body. */
const maxMegabytesTogether = 64;

export interface NamedImage {
  url: string;
  /** Its field in the request: `image`, `image.3`. */
  param: string;
}

/**
 * Downloads, checks and saves the images of a request, in their order. Throws AppError, or the call's abort reason. Then
 * none is kept.
 */
export const takeImageInputs = async (
  images: readonly NamedImage[],
  { caller: { accountId }, signal }: AccountCall,
  { fetchInput, media }: Pick<Services, 'fetchInput' | 'media'>,
): Promise<ImageJobInput[]> => {
  let bytesTogether = 0;
  return takeAll(images, {
    atOnce,
    deadlineMs,
    tooLate: () => refuseInput('image', 'could not be read in time; send fewer or smaller images'),
    signal,
    discard: (taken) => media.discard(taken.map(({ id }) => id)),
    take: async ({ url, param }, ended) => {
      const { bytes, contentType } = await fetchInput(url, {
        kinds: ['image'],
        maxBytes: maxInputBytes.image,
        param,
        totalMs: deadlineMs,
        signal: ended,
        accountId,
      });
      bytesTogether += bytes.byteLength;
      if (bytesTogether > maxMegabytesTogether * 1024 ** 2)
        throw refuseInput('image', `the images have more than ${maxMegabytesTogether} MB together`);
      const { id, sizeBytes } = await media.save({
        accountId,
        role: 'input',
        contentType,
        source: bytes,
        signal: ended,
      });
      return { id, contentType, sizeBytes };
    },
  });
};

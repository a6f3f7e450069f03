import type { ImageJobInput } from './run-image.ts';
import { mostInputBytes } from '../../media/fetch-input.ts';
import { refuseInput } from '../../media/refuse-input.ts';
import type { AccountCall, Services } from '../operation.ts';

/** The deadline for all images of a request, from the first download to the last saved byte. */
const deadlineMs = 30_000;
/** The images of one request that are downloaded at once. Each may take 20 MB of memory. */
const fetchedAtOnce = 4;
/** The limit of all images of one request. They go upstream in one body. */
const mostMegabytesTogether = 64;

/** An image in a request. */
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
  { caller, signal }: AccountCall,
  services: Pick<Services, 'fetchInput' | 'media'>,
): Promise<ImageJobInput[]> => {
  if (images.length === 0) return [];
  const failed = new AbortController();
  const ended = AbortSignal.any([signal, failed.signal]);
  const timer = setTimeout(
    () => failed.abort(refuseInput('image', 'could not be read in time; send fewer or smaller images')),
    deadlineMs,
  );
  const taken: (ImageJobInput | undefined)[] = images.map(() => undefined);
  let bytesTogether = 0;

  const take = async ({ url, param }: NamedImage): Promise<ImageJobInput> => {
    const { bytes, contentType } = await services.fetchInput(url, {
      kinds: ['image'],
      maxBytes: mostInputBytes.image,
      param,
      totalMs: deadlineMs,
      signal: ended,
      accountId: caller.accountId,
    });
    bytesTogether += bytes.byteLength;
    if (bytesTogether > mostMegabytesTogether * 1024 ** 2)
      throw refuseInput('image', `the images have more than ${mostMegabytesTogether} MB together`);
    const { id, sizeBytes } = await services.media.save({
      accountId: caller.accountId,
      role: 'input',
      contentType,
      source: bytes,
      signal: ended,
    });
    return { id, contentType, sizeBytes };
  };

  const waiting = images.entries();
  const takeSome = async (): Promise<void> => {
    try {
      for (const [index, image] of waiting) taken[index] = await take(image);
    } catch (error) {
      // The first failure ends the others. All are awaited, so that everything they saved can be discarded.
      failed.abort(error);
    }
  };
  await Promise.all(Array.from({ length: fetchedAtOnce }, takeSome));
  clearTimeout(timer);

  const kept = taken.filter((input) => input !== undefined);
  if (kept.length === images.length) return kept;
  await services.media.discard(kept.map(({ id }) => id));
  throw ended.reason;
};

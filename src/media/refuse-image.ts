import { AppError } from '../kit/errors.ts';
import { maxPixels, type ImageProblem } from '../providers/image/decode-image.ts';
import { refuseInput } from './refuse-input.ts';
import { expectedInput } from './sniff-input.ts';

const texts = {
  other_type: `is not ${expectedInput(['image'])}`,
  too_many_pixels: `has more than ${maxPixels / 1_000_000} million pixels`,
  too_many_parts:
    'is an image with far more scans, texts, frames, chunks or boxes than images need; save it again',
  undecodable: 'is an image that is broken or cut off',
};

/** Makes the 422 for an image with a problem, or the 503 if it could not be checked now. */
export const refuseImage = (problem: ImageProblem | 'busy', param: string): AppError => {
  if (problem !== 'too_slow' && problem !== 'busy') return refuseInput(param, texts[problem]);
  const text =
    problem === 'busy'
      ? 'The service is checking too many images. Try again shortly.'
      : `${param}: could not be checked in time. Try again shortly.`;
  return new AppError('overloaded', text, { retryAfterSeconds: 5 });
};

import { AppError } from '../kit/errors.ts';
import { maxPixels, type ImageProblem } from '../providers/image/decode-image.ts';
import { refuseInput } from './refuse-input.ts';
import { expectedInput } from './sniff-input.ts';

const retryAfterSeconds = 5;

/** The 422 for an image with a problem; the 503 where nothing is known of it, and the same one may be taken later. */
export const refuseImage = (problem: ImageProblem | 'busy', param: string): AppError => {
  switch (problem) {
    case 'other_type':
      return refuseInput(param, `is not ${expectedInput(['image'])}`);
    case 'too_many_pixels':
      return refuseInput(param, `has more than ${maxPixels / 1_000_000} million pixels`);
    case 'too_many_parts':
      return refuseInput(
        param,
        'is an image with far more scans, texts, frames, chunks or boxes than images need; save it anew',
      );
    case 'undecodable':
      return refuseInput(param, 'is an image that is broken or cut off');
    case 'too_slow':
      return new AppError('overloaded', `${param}: could not be checked in time. Try again shortly.`, {
        retryAfterSeconds,
      });
    case 'busy':
      return new AppError('overloaded', 'The service is checking too many images. Try again shortly.', {
        retryAfterSeconds,
      });
  }
};

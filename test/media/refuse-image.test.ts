import { expect, test } from 'vitest';
import { refuseImage } from '../../src/media/fetch-input.ts';

test.each(['busy', 'too_slow'] as const)(
  'an image that was not judged (%s) is not blamed: the same request may succeed later',
  (problem) => {
    const refusal = refuseImage(problem, 'image.3');
    expect(refusal).toMatchObject({ code: 'overloaded', status: 503, retryAfterSeconds: 5 });
    expect(refusal.message).toMatch(/Try again shortly/);
  },
);

test.each([
  ['other_type', 'is not a PNG, JPEG, WebP, GIF or AVIF image'],
  ['too_many_pixels', 'has more than 50 million pixels'],
  ['too_many_parts', 'far more scans, texts, frames, chunks or boxes'],
  ['undecodable', 'broken or cut off'],
] as const)('an image that cannot be taken (%s) is refused on its field', (problem, words) => {
  const refusal = refuseImage(problem, 'image.3');
  expect(refusal).toMatchObject({ code: 'invalid_parameter', status: 422, param: 'image.3' });
  expect(refusal.message).toContain(words);
});

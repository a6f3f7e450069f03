/** The beginning of picture addresses of generated profiles. No real profile has one there. */
export const syntheticPictures = 'https://example.com/synthetic-profiles/';

/** Tells whether a profile was generated. The mark stays in a profile wherever it is stored or copied. */
export const isSynthetic = (profile: unknown): boolean =>
  typeof profile === 'object' &&
  profile !== null &&
  'profile_pic_url' in profile &&
  String(profile.profile_pic_url).startsWith(syntheticPictures);

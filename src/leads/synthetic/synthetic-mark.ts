/** Where the pictures of generated profiles are said to be; nobody's profile has one there. */
export const syntheticPictures = 'https://example.com/synthetic-profiles/';

/** Whether a profile was generated: it carries the mark with it, wherever it was kept or copied to meanwhile. */
export const isSynthetic = (profile: unknown): boolean => {
  if (typeof profile !== 'object' || profile === null || !('profile_pic_url' in profile)) return false;
  const { profile_pic_url: picture } = profile;
  return typeof picture === 'string' && picture.startsWith(syntheticPictures);
};

import type { Media } from '../store/store.ts';

/** True if a medium has expired or was removed. */
export const isGone = (media: Pick<Media, 'removedAt' | 'expiresAt'>, now: number): boolean =>
  media.removedAt !== null || media.expiresAt <= now;

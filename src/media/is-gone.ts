import type { Media } from '../store/store.ts';

/** Whether the time of a medium is over. */
export const isGone = (media: Pick<Media, 'removedAt' | 'expiresAt'>, now: number): boolean =>
  media.removedAt !== null || media.expiresAt <= now;

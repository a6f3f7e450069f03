import type { Media } from '../../store/store.ts';

export const isGone = (media: Pick<Media, 'removedAt' | 'expiresAt'>, now: number): boolean =>
  media.removedAt !== null || media.expiresAt <= now;

import { AppError } from '../errors.ts';
import type { Media } from '../store/store.ts';

/** Whether the time of a video's content is over. */
export const isGone = (media: Pick<Media, 'removedAt' | 'expiresAt'>, now: number): boolean =>
  media.removedAt !== null || media.expiresAt <= now;

export const contentExpired = (): AppError =>
  new AppError(
    'content_expired',
    'The content was kept for 23 hours after completion and is gone. Make the video again.',
  );

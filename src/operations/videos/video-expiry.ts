import { AppError } from '../../kit/errors.ts';

export const contentExpired = (): AppError =>
  new AppError(
    'content_expired',
    'The content was kept for 23 hours after completion and is gone. Make the video again.',
  );

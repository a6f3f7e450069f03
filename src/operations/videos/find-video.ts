import { AppError } from '../../kit/errors.ts';
import { isUuid } from '../../kit/ids.ts';
import type { Job, Store } from '../../store/store.ts';

/** Returns the account's video job with this id. Throws AppError `video_not_found`. */
export const findVideo = async (
  { store }: { store: Pick<Store, 'getJob'> },
  { videoId, accountId }: { videoId: string; accountId: string },
): Promise<Job> => {
  const id = videoId.toLowerCase();
  const job = isUuid(id) ? await store.getJob({ id, accountId }) : null;
  if (job === null || job.kind !== 'video')
    throw new AppError('video_not_found', 'This account has no video with that id. Check the id.');
  return job;
};

import { AppError } from '../../kit/errors.ts';
import { refundRest } from '../../ledger/entries.ts';
import { formatUsd } from '../../kit/money.ts';
import type { Job, Media } from '../../store/store.ts';
import type { Services } from '../operation.ts';
import { isGone } from '../../media/is-gone.ts';

/**
 * The tolerance between clocks. Another replica may have removed expired bytes by its own clock, and the storage of media
 * may have another clock too.
 */
const clockErrorMs = 60_000;

/**
 * Refunds a completed video, once, whose bytes are lost (docs/contract.md, "Video"). Returns `upstream_error`, or
 * `content_expired` when the bytes have expired. A video older than the storage where it is missing is not lost: the
 * storage was changed, and nothing is refunded. Rejects when the storage does not answer.
 */
export const refundLostVideo = async (
  job: Pick<Job, 'id' | 'charged'>,
  { id: mediaId }: Pick<Media, 'id'>,
  services: Pick<Services, 'store' | 'clock' | 'log'> & { media: Pick<Services['media'], 'usedSince'> },
): Promise<AppError> => {
  const { store, clock, log } = services;
  const media = await store.getMedia(mediaId);
  if (media === null || isGone(media, clock.now() + clockErrorMs)) return contentExpired();
  if ((await services.media.usedSince()) > media.createdAt + clockErrorMs) {
    log.error(
      { jobId: job.id, mediaId },
      'a video is not in the place of the media, which is newer than it; were MEDIA_URL or MEDIA_DIR changed?',
    );
    return new AppError('upstream_error', 'The content cannot be read now. Try again later.', {
      cause: new Error(`video ${job.id} is older than the place of the media`),
    });
  }
  const refund = await refundRest(services, { jobId: job.id, reason: 'the content of the video was lost' });
  if (refund.outcome === 'refunded')
    log.error(
      { jobId: job.id, mediaId, refunded: formatUsd(refund.entry.amount) },
      'a lost video was refunded',
    );
  return new AppError(
    'upstream_error',
    `The content could not be fetched safely: it is lost. ${chargeText(job)} Make the video again.`,
    { cause: new Error(`the bytes of video ${job.id} are missing`) },
  );
};

const chargeText = ({ charged }: Pick<Job, 'charged'>): string =>
  charged === 0n ? 'Nothing was charged for it.' : `The charge of $${formatUsd(charged)} was given back.`;

export const contentExpired = (): AppError =>
  new AppError(
    'content_expired',
    'The content was kept for 23 hours after completion and is gone. Make the video again.',
  );

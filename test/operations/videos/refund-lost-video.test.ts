import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import { refundLostVideo } from '../../../src/operations/videos/get-video-content.ts';
import type { Services } from '../../../src/operations/call.ts';

const madeAt = 1_800_000_000_000;
const job = { id: randomUUID(), charged: 80_000_000n };
const media = { id: 'm'.repeat(43), createdAt: madeAt, expiresAt: madeAt + 82_800_000, removedAt: null };

/** The refusal, and whether money went back. */
const givingUp = async (
  usedSince: () => Promise<number>,
): Promise<{ message: string; isRefunded: boolean }> => {
  let isRefunded = false;
  const services = {
    store: {
      getMedia: async () => media,
      refundJob: async () => {
        isRefunded = true;
        return { outcome: 'refunded', entry: { amount: job.charged } };
      },
    },
    media: { usedSince },
    clock: { now: () => madeAt + 3_600_000 },
    log: silentLog,
  } as unknown as Services;
  const message = await refundLostVideo(job, media, services).then(
    (refusal) => `${refusal.code}: ${refusal.message}`,
    (error: Error) => error.message,
  );
  return { message, isRefunded };
};

describe('a video that is not in the place of the media', () => {
  it.each([
    ['before it was made', madeAt - 86_400_000],
    ['at about the same time, by another clock', madeAt + 10_000],
  ])('is lost, and paid back, when the place was used %s', async (_when, since) => {
    const { message, isRefunded } = await givingUp(async () => since);
    expect(message).toMatch(/^upstream_error: .* it is lost\. The charge of \$0\.08 was given back\./);
    expect(isRefunded).toBe(true);
  });

  it('is not, when the place is newer than the video: the settings name another one now', async () => {
    const { message, isRefunded } = await givingUp(async () => madeAt + 600_000);
    expect(message).toBe('upstream_error: The content cannot be read now. Try again later.');
    expect(isRefunded).toBe(false);
  });

  it('is not, when the place cannot be asked', async () => {
    const { message, isRefunded } = await givingUp(() => Promise.reject(new Error('the bucket is silent')));
    expect(message).toBe('the bucket is silent');
    expect(isRefunded).toBe(false);
  });
});

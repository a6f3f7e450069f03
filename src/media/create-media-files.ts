import { join } from 'node:path';
import type { Log } from '../kit/log.ts';
import type { MediaFiles } from './media-files.ts';
import type { MediaSettings } from './media-settings.ts';

/** Where media are kept that go to no bucket. */
export const mediaFolder = ({
  mediaDir,
  dataDir,
}: Pick<MediaSettings, 'mediaDir'> & { dataDir: string }): string => mediaDir ?? join(dataDir, 'media');

/** Where the settings keep media: a bucket, or else a folder. Asks neither anything yet; only the one that is used is loaded. */
export const createMediaFiles = async (
  config: Pick<MediaSettings, 's3' | 'mediaDir'> & { dataDir: string },
  { log }: { log: Log },
): Promise<MediaFiles> => {
  const { s3 } = config;
  if (s3 !== null) {
    const { createS3Media } = await import('./s3/s3-media.ts');
    return createS3Media(s3, { log });
  }
  const { createDiskMedia } = await import('./disk-media.ts');
  return createDiskMedia(mediaFolder(config));
};

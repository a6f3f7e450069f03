import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import type { MediaFiles } from './media-files.ts';

/** Where the settings keep media: a bucket, or else a folder. Asks neither anything yet; only the one that is used is loaded. */
export const createMediaFiles = async (
  { s3, mediaDir, dataDir }: Pick<Config, 's3' | 'mediaDir' | 'dataDir'>,
  { log }: { log: Log },
): Promise<MediaFiles> => {
  if (s3 !== null) {
    const { createS3Media } = await import('./s3-media.ts');
    return createS3Media(s3, { log });
  }
  const { createDiskMedia } = await import('./disk-media.ts');
  return createDiskMedia(mediaDir ?? join(dataDir, 'media'));
};

import { join } from 'node:path';
import type { Log } from '../kit/log.ts';
import type { MediaFiles } from './media-files.ts';
import type { MediaSettings } from './media-settings.ts';

/** The folder of the media, if they are not in a bucket. */
export const mediaFolder = ({
  mediaDir,
  dataDir,
}: Pick<MediaSettings, 'mediaDir'> & { dataDir: string }): string => mediaDir ?? join(dataDir, 'media');

/** Creates the storage of the settings: a bucket, or else a folder. Loads only that one, and does not access it yet. */
export const createMediaFiles = async (
  config: Pick<MediaSettings, 's3' | 'mediaDir'> & { dataDir: string },
  { log }: { log: Log },
): Promise<MediaFiles> => {
  const { s3 } = config;
  if (s3 !== null) {
    const { createS3Media } = await import('./s3/s3-media.ts');
    return createS3Media(s3, { log, spool: { directory: join(config.dataDir, 'upload-work') } });
  }
  const { createDiskMedia } = await import('./disk-media.ts');
  return createDiskMedia(mediaFolder(config));
};

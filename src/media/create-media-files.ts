import { join, resolve } from 'node:path';
import type { Log } from '../kit/log.ts';
import type { MediaFiles } from './media-files.ts';
import type { MediaSettings } from './media-settings.ts';

interface PlaceSettings extends Pick<MediaSettings, 's3' | 'mediaDir'> {
  dataDir: string;
}

/** The folder of the media, if they are not in a bucket. */
export const mediaFolder = ({ mediaDir, dataDir }: Omit<PlaceSettings, 's3'>): string =>
  mediaDir ?? join(dataDir, 'media');

export interface DataFolder {
  path: string;
  setting: 'DATA_DIR' | 'MEDIA_DIR';
}

/** Lists the folders of a deployment that the settings name. */
export const dataFolders = (config: PlaceSettings): DataFolder[] => [
  { path: resolve(config.dataDir), setting: 'DATA_DIR' },
  ...(config.s3 === null && config.mediaDir !== null
    ? [{ path: resolve(config.mediaDir), setting: 'MEDIA_DIR' as const }]
    : []),
];

/** Creates the storage of the settings: a bucket, or else a folder. Loads only that one, and does not access it yet. */
export const createMediaFiles = async (config: PlaceSettings, { log }: { log: Log }): Promise<MediaFiles> => {
  const { s3 } = config;
  if (s3 !== null) {
    const { createS3Media } = await import('./s3/s3-media.ts');
    return createS3Media(s3, { log, spool: { directory: join(config.dataDir, 'upload-work') } });
  }
  const { createDiskMedia } = await import('./disk-media.ts');
  return createDiskMedia(mediaFolder(config));
};

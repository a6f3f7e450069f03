import type { Clock } from '../clock.ts';
import { randomBase62 } from '../ids.ts';
import type { NewMedia } from '../store/store.ts';
import type { MediaFiles } from './disk-media.ts';

/** 43 base62 characters: the id is the only authority to read the bytes. */
const idLength = 43;

const extensions: Record<string, string> = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp' };

export interface MediaLibraryOptions {
  files: MediaFiles;
  clock: Clock;
  retentionMs: number;
  /** `{base_url}`, known once the server listens. */
  publicUrl: () => string;
}

/** Keeps the bytes of a result; the row that makes them reachable is written with the job's end. */
export const createSaveMedia =
  ({ files, clock, retentionMs, publicUrl }: MediaLibraryOptions) =>
  async (input: {
    bytes: Uint8Array;
    contentType: string;
    accountId: string;
    jobId: string;
  }): Promise<{ media: NewMedia; url: string }> => {
    const id = randomBase62(idLength);
    const extension = extensions[input.contentType];
    if (extension === undefined)
      throw new TypeError(`a result of type ${input.contentType} cannot be served`);
    await files.write(id, input.bytes);
    return {
      media: {
        id,
        accountId: input.accountId,
        jobId: input.jobId,
        contentType: input.contentType,
        sizeBytes: input.bytes.byteLength,
        expiresAt: clock.now() + retentionMs,
      },
      url: `${publicUrl()}/results/${id}.${extension}`,
    };
  };

import { createServer, type Server } from 'node:http';
import { createMediaLibrary, type MediaLibrary } from '../../src/media/media-library.ts';
import type { MediaFiles } from '../../src/media/media-files.ts';
import type { Log } from '../../src/kit/log.ts';
import { createServeContent } from '../../src/rest/serve-content.ts';
import type { Media } from '../../src/store/store.ts';
import { randomBase62 } from '../../src/kit/ids.ts';

export const now = 1_800_000_000_000;

export const newMedia = (sizeBytes: number, changes: Partial<Media> = {}): Media => ({
  id: randomBase62(43),
  accountId: 'account',
  jobId: 'job',
  role: 'video',
  contentType: 'video/mp4',
  sizeBytes,
  createdAt: now,
  expiresAt: now + 3_600_000,
  removedAt: null,
  ...changes,
});

export interface ContentServerOptions {
  files: MediaFiles;
  log: Log;
  streams: number;
  stalledMs?: number;
  leastBytesPerSecond?: number;
  /** What is served under `/{id}`. */
  media: Map<string, Media>;
  fileName: string;
}

/** `serveContent` on a server of its own, over real files. */
export const createContentServer = ({ files, media, fileName, ...options }: ContentServerOptions): Server => {
  const library: Pick<MediaLibrary, 'read'> = createMediaLibrary({
    store: { getMedia: async () => null, reserveMedia: async () => {}, discardMedia: async () => {} },
    files,
    clock: { now: () => now },
    publicUrl: () => 'https://gateway.example',
  });
  const serveContent = createServeContent({ media: library, ...options });
  return createServer((request, response) => {
    const found = media.get((request.url ?? '').slice(1));
    if (found === undefined) response.writeHead(404).end();
    else void serveContent({ media: found, request, response, requestId: 'req_1', fileName });
  });
};

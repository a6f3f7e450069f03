import type { S3Config } from '../media-settings.ts';
import { ConfigError } from '../../kit/errors.ts';
import type { Log } from '../../kit/log.ts';
import { checkedMediaId, type MediaFiles } from '../media-files.ts';
import { createS3Client, defaultS3Limits, type S3Answer, type S3Client, type S3Limits } from './s3-client.ts';
import { nullWhenMissing, S3Error } from './s3-error.ts';
import { abortUpload, beginMultipartUpload } from './s3-upload.ts';
import { elementsOf, textOf } from './s3-xml.ts';
import { toParts } from '../to-parts.ts';

/** Streams are held in memory one part at a time; S3 takes 10,000 parts, so 78 GiB. */
const partBytes = 8 * 1024 ** 2;
/** An empty object whose time says since when the bucket and prefix have been used. */
const markName = 'used-since';
/** Of uploads under way; the next time goes on. */
const mostPages = 100;
/** How long a failed write may take to clean up behind itself. */
const undoMs = 10_000;

export interface S3MediaOptions {
  log: Log;
  limits?: Partial<S3Limits>;
}

/** Media in a bucket of S3, or of a service with its interface; addressed by path. Throws ConfigError on a prefix that is no key. */
export const createS3Media = (config: S3Config, { log, limits }: S3MediaOptions): MediaFiles => {
  if (config.prefix.split('/').some((part) => part === '.' || part === '..'))
    throw new ConfigError('MEDIA_URL: the prefix must not have "." or ".." between its slashes');
  const client = createS3Client(config, { ...defaultS3Limits, ...limits });
  const keyOf = (id: string): string => config.prefix + checkedMediaId(id);

  /** What cannot be undone now goes with its row, or as a leftover. */
  const undo = async (act: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    try {
      await act(AbortSignal.timeout(undoMs));
    } catch (error) {
      log.warn({ err: error }, 'a failed write to the media bucket could not be cleaned up yet');
    }
  };

  return {
    place: `s3://${config.bucket}/${config.prefix}`,
    write: async (id, source, { contentType, signal }) => {
      const key = keyOf(id);
      signal.throwIfAborted();
      const parts = toParts(source, { partBytes, signal });
      try {
        return await upload({ client, key, contentType, signal, parts, undo });
      } finally {
        await parts.return(undefined);
      }
    },
    size: async (id, { signal } = {}) => {
      const key = keyOf(id);
      const answer = await nullWhenMissing(client.call({ method: 'HEAD', key, signal }), null);
      if (answer !== null) return Number(answer.header('content-length'));
      const opened = await nullWhenMissing(client.open({ method: 'GET', key, signal }));
      opened?.body.destroy();
      return opened === null ? null : Number(opened.header('content-length'));
    },
    read: async (id, { range, signal } = {}) => {
      const headers: Record<string, string> =
        range === undefined ? {} : { range: `bytes=${range.start}-${range.end}` };
      const answer = await nullWhenMissing(client.open({ method: 'GET', key: keyOf(id), headers, signal }));
      if (answer === null) return null;
      if (range !== undefined && answer.status !== 206) {
        answer.body.destroy();
        throw new S3Error('GET object was answered without regard to its range', {
          status: answer.status,
          code: null,
        });
      }
      return answer.body;
    },
    remove: (id, { signal } = {}) => removeObject(client, keyOf(id), signal),
    removeLeftovers: ({ olderThan, signal }) =>
      abortOldUploads({ client, prefix: config.prefix, olderThan, signal }),
    check: async ({ signal }) => {
      await client.call({ method: 'HEAD', key: null, signal });
    },
    usedSince: async ({ signal } = {}) => {
      const key = config.prefix + markName;
      const readMark = (): Promise<number | null> =>
        nullWhenMissing(client.call({ method: 'GET', key, signal }).then(modifiedAt));
      const found = await readMark();
      if (found !== null) return found;
      await client.call({ method: 'PUT', key, body: new Uint8Array(), signal });
      return (await readMark()) ?? Date.now();
    },
    close: () => client.close(),
  };
};

const modifiedAt = ({ header }: S3Answer): number => {
  const at = Date.parse(header('last-modified') ?? '');
  if (Number.isNaN(at))
    throw new S3Error('the answer to GET object has no time', { status: 200, code: null });
  return at;
};

const removeObject = async (
  client: S3Client,
  key: string,
  signal: AbortSignal | undefined,
): Promise<void> => {
  await client.call({ method: 'DELETE', key, signal });
};

interface Upload {
  client: S3Client;
  key: string;
  contentType: string;
  signal: AbortSignal;
  parts: AsyncGenerator<Uint8Array>;
  undo: (act: (signal: AbortSignal) => Promise<void>) => Promise<void>;
}

/** One PUT for what fits into a part, else an upload in parts; answers the size. */
const upload = async ({ parts, undo, ...target }: Upload): Promise<number> => {
  const { client, key, contentType, signal } = target;
  const first = await parts.next();
  const start = first.done === true ? new Uint8Array() : first.value;
  if (start.byteLength < partBytes) {
    try {
      await client.call({
        method: 'PUT',
        key,
        headers: { 'content-type': contentType },
        body: start,
        signal,
      });
      return start.byteLength;
    } catch (error) {
      // The service may have it all the same.
      await undo((undoSignal) => removeObject(client, key, undoSignal));
      throw error;
    }
  }
  const multipart = await beginMultipartUpload(target);
  let isCompleting = false;
  try {
    await multipart.addPart(start);
    let sizeBytes = start.byteLength;
    for await (const part of parts) {
      await multipart.addPart(part);
      sizeBytes += part.byteLength;
    }
    isCompleting = true;
    await multipart.complete();
    return sizeBytes;
  } catch (error) {
    await undo(multipart.abort);
    if (isCompleting) await undo((undoSignal) => removeObject(client, key, undoSignal));
    throw error;
  }
};

/** Page by page: S3 tells of a thousand at a time. */
const abortOldUploads = async ({
  client,
  prefix,
  olderThan,
  signal,
}: {
  client: S3Client;
  prefix: string;
  olderThan: number;
  signal: AbortSignal;
}): Promise<number> => {
  let removed = 0;
  let after: Record<string, string> = {};
  for (let page = 0; page < mostPages; page += 1) {
    const text = await listUploads({ client, query: { uploads: '', prefix, ...after }, signal });
    for (const element of elementsOf(text, 'Upload')) {
      const key = textOf(element, 'Key');
      const uploadId = textOf(element, 'UploadId');
      const begunAt = Date.parse(textOf(element, 'Initiated') ?? '');
      if (key === null || uploadId === null || !isOurs(key, prefix) || !(begunAt < olderThan)) continue;
      await abortUpload({ client, key, uploadId, signal });
      removed += 1;
    }
    const key = textOf(text, 'NextKeyMarker') ?? '';
    if (textOf(text, 'IsTruncated') !== 'true' || key === '') break;
    after = { 'key-marker': key, 'upload-id-marker': textOf(text, 'NextUploadIdMarker') ?? '' };
  }
  return removed;
};

/** The XML of the uploads under way; empty where the service does not tell of them. */
const listUploads = async ({
  client,
  query,
  signal,
}: {
  client: S3Client;
  query: Record<string, string>;
  signal: AbortSignal;
}): Promise<string> => {
  try {
    return (await client.call({ method: 'GET', key: null, query, signal })).text;
  } catch (error) {
    if (error instanceof S3Error && error.code === 'NotImplemented') return '';
    throw error;
  }
};

/** A bucket may be shared: only keys as we make them are touched. */
const isOurs = (key: string, prefix: string): boolean =>
  key.startsWith(prefix) && /^[0-9A-Za-z]{20,64}$/.test(key.slice(prefix.length));

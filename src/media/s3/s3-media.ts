import { toS3Body, type S3Body } from '../../http/s3/s3-body.ts';
import { createS3Client, defaultS3Limits, type S3Answer, type S3Limits } from '../../http/s3/s3-client.ts';
import { nullWhenMissing, S3Error } from '../../http/s3/s3-error.ts';
import type { S3Config } from '../../http/s3/s3-settings.ts';
import type { Log } from '../../kit/log.ts';
import { checkedMediaId, type MediaFiles } from '../media-files.ts';
import { createSpool, type SpoolOptions } from './spool.ts';

/** An empty object. Its time is the first use of the bucket and prefix. */
const markName = 'used-since';
/** Time limit for the clean-up after a failed write. */
const undoMs = 10_000;

export interface S3MediaOptions {
  log: Log;
  /** Where streams are on their way to the bucket. */
  spool: SpoolOptions;
  limits?: Partial<S3Limits>;
}

/** Keeps media in a bucket of S3 or a compatible service, addressed by path. */
export const createS3Media = (
  config: S3Config,
  { log, spool: spoolOptions, limits }: S3MediaOptions,
): MediaFiles => {
  const client = createS3Client(config, { ...defaultS3Limits, ...limits });
  const spool = createSpool(spoolOptions);
  const keyOf = (id: string): string => config.prefix + checkedMediaId(id);

  const removeObject = async (key: string, signal?: AbortSignal): Promise<void> => {
    await client.call({ method: 'DELETE', key, signal });
  };

  const put = async (
    key: string,
    body: S3Body,
    { contentType, signal }: { contentType: string; signal: AbortSignal },
  ): Promise<number> => {
    try {
      await client.call({ method: 'PUT', key, headers: { 'content-type': contentType }, body, signal });
      return body.sizeBytes;
    } catch (error) {
      // The service may have stored it nevertheless. The sweep removes what this cannot remove now.
      await removeObject(key, AbortSignal.timeout(undoMs)).catch((err: unknown) =>
        log.warn({ err }, 'a failed write to the media bucket could not be cleaned up yet'),
      );
      throw error;
    }
  };

  return {
    place: `s3://${config.bucket}/${config.prefix}`,
    write: async (id, source, options) => {
      const key = keyOf(id);
      options.signal.throwIfAborted();
      return source instanceof Uint8Array
        ? put(key, await toS3Body(source), options)
        : spool.hold(id, { source, signal: options.signal }, (body) => put(key, body, options));
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
        throw new S3Error('the answer to GET object ignored the requested range', {
          status: answer.status,
          code: null,
        });
      }
      return answer.body;
    },
    remove: (id, { signal } = {}) => removeObject(keyOf(id), signal),
    removeLeftovers: spool.removeLeftovers,
    check: async ({ signal }) => {
      await client.call({ method: 'HEAD', key: null, signal });
    },
    usedSince: async ({ signal } = {}) => {
      const key = config.prefix + markName;
      const readMark = (): Promise<number | null> =>
        nullWhenMissing(client.call({ method: 'GET', key, signal }).then(modifiedAt));
      const found = await readMark();
      if (found !== null) return found;
      await client.call({ method: 'PUT', key, body: await toS3Body(new Uint8Array()), signal });
      return (await readMark()) ?? Date.now();
    },
    close: () => client.close(),
  };
};

const modifiedAt = ({ header }: S3Answer): number => {
  const at = Date.parse(header('last-modified') ?? '');
  if (Number.isNaN(at))
    throw new S3Error('the answer to GET object has no valid Last-Modified', { status: 200, code: null });
  return at;
};

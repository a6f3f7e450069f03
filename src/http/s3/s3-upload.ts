import { chunkStream } from './chunk-stream.ts';
import type { S3Client } from './s3-client.ts';
import { nullWhenMissing, S3Error } from './s3-error.ts';
import { elementsOf, escapeXml, textOf } from './s3-xml.ts';

/** One part of a stream is in memory at a time. S3 allows 10,000 parts, so 78 GiB. */
const partBytes = 8 * 1024 ** 2;
/** Pages of unfinished uploads per sweep; the next sweep continues. */
const maxPages = 100;

export interface S3Upload {
  client: S3Client;
  key: string;
  contentType: string;
  signal: AbortSignal;
}

/** An upload in parts. Its object becomes visible when it is complete. */
export interface MultipartUpload {
  /** S3 requires at least 5 MiB for each part except the last. */
  addPart(part: Uint8Array): Promise<void>;
  complete(): Promise<void>;
  abort(signal: AbortSignal): Promise<void>;
}

const beginMultipartUpload = async ({
  client,
  key,
  contentType,
  signal,
}: S3Upload): Promise<MultipartUpload> => {
  const begun = await client.call({
    method: 'POST',
    key,
    query: { uploads: '' },
    headers: { 'content-type': contentType },
    signal,
  });
  const uploadId = textOf(begun.text, 'UploadId');
  if (uploadId === null) throw notUnderstood('the beginning of an upload');
  const etags: string[] = [];
  let sizeBytes = 0;

  const isThere = async (): Promise<boolean> => {
    const answer = await nullWhenMissing(client.call({ method: 'HEAD', key, signal }), null);
    return answer?.header('content-length') === String(sizeBytes);
  };

  return {
    addPart: async (part) => {
      const partNumber = String(etags.length + 1);
      const { header } = await client.call({
        method: 'PUT',
        key,
        query: { partNumber, uploadId },
        body: part,
        signal,
      });
      const etag = header('etag');
      if (etag === null) throw notUnderstood('a part');
      etags.push(etag);
      sizeBytes += part.byteLength;
    },
    complete: async () => {
      const completed = await nullWhenMissing(
        completeUpload({ client, key, uploadId, etags, signal }),
        'NoSuchUpload',
      );
      // If the answer to an earlier completion was lost, the upload is gone but the object is there.
      if (completed === null && !(await isThere()))
        throw new S3Error('another process ended the upload', { status: 404, code: 'NoSuchUpload' });
    },
    abort: (abortSignal) => abortUpload({ client, key, uploadId, signal: abortSignal }),
  };
};

/** Aborts an upload and removes its parts; does nothing if it does not exist. */
const abortUpload = async ({
  client,
  key,
  uploadId,
  signal,
}: Pick<S3Upload, 'client' | 'key' | 'signal'> & { uploadId: string }): Promise<void> => {
  await nullWhenMissing(client.call({ method: 'DELETE', key, query: { uploadId }, signal }), 'NoSuchUpload');
};

const completeUpload = async ({
  client,
  key,
  uploadId,
  etags,
  signal,
}: Pick<S3Upload, 'client' | 'key' | 'signal'> & { uploadId: string; etags: string[] }): Promise<true> => {
  const parts = etags.map(
    (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
  );
  await client.call({
    method: 'POST',
    key,
    query: { uploadId },
    headers: { 'content-type': 'application/xml' },
    body: Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`),
    signal,
  });
  return true;
};

const notUnderstood = (what: string): S3Error =>
  new S3Error(`the answer to ${what} could not be read`, { status: 200, code: null });

export interface StreamUpload extends S3Upload {
  /** Cleans up after a failed write. Must not reject. */
  undo: (act: (signal: AbortSignal) => Promise<void>) => Promise<void>;
}

/** Uploads a stream. Resolves with its size in bytes. */
export const uploadStream = async (
  source: Uint8Array | AsyncIterable<Uint8Array>,
  target: StreamUpload,
): Promise<number> => {
  target.signal.throwIfAborted();
  const parts = chunkStream(source, { partBytes, signal: target.signal });
  try {
    return await uploadParts(parts, target);
  } finally {
    await parts.return(undefined);
  }
};

/** Uploads with one PUT if the source is smaller than a part, else in parts. Returns the size in bytes. */
const uploadParts = async (
  parts: AsyncGenerator<Uint8Array>,
  { undo, ...target }: StreamUpload,
): Promise<number> => {
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
      // The service may have stored it nevertheless.
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

export const removeObject = async (client: S3Client, key: string, signal?: AbortSignal): Promise<void> => {
  await client.call({ method: 'DELETE', key, signal });
};

/** Aborts unfinished uploads, page by page: S3 lists a thousand at a time. Returns how many. */
export const abortOldUploads = async ({
  client,
  prefix,
  isOurs,
  olderThan,
  signal,
}: {
  client: S3Client;
  prefix: string;
  /** Other programs may use the bucket. */
  isOurs: (key: string) => boolean;
  olderThan: number;
  signal: AbortSignal;
}): Promise<number> => {
  let removed = 0;
  let after: Record<string, string> = {};
  for (let page = 0; page < maxPages; page += 1) {
    const text = await listUploads({ client, query: { uploads: '', prefix, ...after }, signal });
    for (const element of elementsOf(text, 'Upload')) {
      const key = textOf(element, 'Key');
      const uploadId = textOf(element, 'UploadId');
      const begunAt = Date.parse(textOf(element, 'Initiated') ?? '');
      if (key === null || uploadId === null || !isOurs(key) || !(begunAt < olderThan)) continue;
      await abortUpload({ client, key, uploadId, signal });
      removed += 1;
    }
    const key = textOf(text, 'NextKeyMarker') ?? '';
    if (textOf(text, 'IsTruncated') !== 'true' || key === '') break;
    after = { 'key-marker': key, 'upload-id-marker': textOf(text, 'NextUploadIdMarker') ?? '' };
  }
  return removed;
};

/** Returns the XML list of unfinished uploads; empty if the service does not support it. */
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

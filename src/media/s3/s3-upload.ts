import type { S3Client } from './s3-client.ts';
import { nullWhenMissing, S3Error } from './s3-error.ts';
import { escapeXml, textOf } from './s3-xml.ts';

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

export const beginMultipartUpload = async ({
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
export const abortUpload = async ({
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

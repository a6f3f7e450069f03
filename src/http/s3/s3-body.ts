import { webcrypto } from 'node:crypto';

/** Bytes to upload. Each attempt reads them from the start. */
export interface S3Body {
  sizeBytes: number;
  /** In hex. The service refuses what was changed on its way. */
  sha256: string;
  read(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

const chunkBytes = 64 * 1024;

/** Hashes off the event loop: a picture has megabytes. */
export const toS3Body = async (bytes: Uint8Array): Promise<S3Body> => ({
  sizeBytes: bytes.byteLength,
  sha256: Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex'),
  read: function* () {
    for (let start = 0; start < bytes.byteLength; start += chunkBytes)
      yield bytes.subarray(start, start + chunkBytes);
  },
});

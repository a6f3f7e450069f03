import { createHash, webcrypto } from 'node:crypto';
import { Readable } from 'node:stream';
import { AwsV4Signer } from 'aws4fetch';
import { instead } from '../../kit/errors.ts';
import { createHttpClient } from '../http-client.ts';
import type { HttpAnswer, HttpTimeouts } from '../send-request.ts';
import { pause } from '../../kit/repeat.ts';
import type { S3Config } from './s3-settings.ts';

/** S3's codes that mean "try again", with any status. */
const temporaryCodes = new Set(['RequestTimeout', 'SlowDown', 'InternalError', 'ServiceUnavailable']);

/** A failed call to the bucket. Contains no credentials, no headers, and of the service's text only its code. */
export class S3Error extends Error {
  override readonly name = 'S3Error';
  /** Null if no answer came. */
  readonly status: number | null;
  /** S3's code, such as `NoSuchKey`; null if there was none. */
  readonly code: string | null;

  constructor(message: string, facts: { status: number | null; code: string | null; cause?: unknown }) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.status = facts.status;
    this.code = facts.code;
  }

  /** True if the same call may succeed later. */
  get isTemporary(): boolean {
    if (this.status === null || (this.code !== null && temporaryCodes.has(this.code))) return true;
    return this.status === 429 || (this.status >= 500 && this.status !== 501);
  }
}

/**
 * Resolves with null on a 404 with this code, which only S3 writes, and where a range is beyond the object. A 404 without a code may come from a proxy and
 * proves nothing about the object. The answer to HEAD never has a code (null), so it proves nothing either.
 */
export const nullWhenMissing = <T>(
  promise: Promise<T>,
  code: 'NoSuchKey' | null = 'NoSuchKey',
): Promise<T | null> =>
  promise.catch(
    instead(null, (error) => {
      if (!(error instanceof S3Error)) return false;
      return error.code === 'InvalidRange' || (error.status === 404 && error.code === code);
    }),
  );

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  /** Null: the bucket itself. */
  key: string | null;
  headers?: Record<string, string>;
  body?: S3Body;
  signal?: AbortSignal | undefined;
}

export interface S3Answer {
  status: number;
  header(name: string): string | null;
}

export type S3Limits = typeof defaultS3Limits;

export const defaultS3Limits = {
  connectMs: 5_000,
  /** The time of one attempt, up to the end of a short answer or the first byte of a streamed one. */
  attemptMs: 15_000,
  /** The longest time that the service takes no more bytes of an upload, or does not answer after the last. */
  uploadMs: 60_000,
  /** The longest silence within a streamed answer. */
  idleMs: 30_000,
  attempts: 3,
  /** The pause before the second attempt. Each further one is four times as long. */
  pauseMs: 200,
};

const largestAnswer = 2 * 1024 ** 2;

/** Signed calls to one bucket. Each is tried a few times, so it must be repeatable. Throws S3Error. */
export const createS3Client = (config: S3Config, limits: S3Limits) => {
  const http = createHttpClient(limits);
  const sign = createSign(config);

  const attempt = async <T>(request: S3Request, { timeouts, maxBytes, use }: Exchange<T>): Promise<T> => {
    const { method, body, signal } = request;
    const upload = body === undefined || body.sizeBytes === 0 ? null : startUpload(body, limits.uploadMs);
    try {
      const { url, headers } = await sign(request);
      const answer = await http.send(url, {
        method,
        headers,
        body: upload?.stream ?? null,
        timeouts: upload === null ? timeouts(limits.attemptMs) : {},
        signal:
          upload === null
            ? signal
            : AbortSignal.any([upload.stalled, ...(signal === undefined ? [] : [signal])]),
        limits: ({ status }) => ({ totalBytes: isGood(status) ? maxBytes : largestAnswer }),
      });
      if (!isGood(answer.status)) throw toS3Error(request, answer.status, await answer.body.text());
      return await use(answer);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof S3Error) throw error;
      throw new S3Error(`${nameOf(request)} was not answered`, { status: null, code: null, cause: error });
    } finally {
      upload?.end();
    }
  };

  const retrying = async <T>(request: S3Request, exchange: Exchange<T>): Promise<T> => {
    for (let count = 1; ; count += 1) {
      request.signal?.throwIfAborted();
      try {
        return await attempt(request, exchange);
      } catch (error) {
        if (!(error instanceof S3Error) || !error.isTemporary || count >= limits.attempts) throw error;
      }
      await pause(limits.pauseMs * 4 ** (count - 1) * (0.5 + Math.random()), request.signal);
    }
  };

  return {
    /** With the whole answer, of at most 2 MiB. */
    call: (request: S3Request) =>
      retrying(request, {
        timeouts: (totalMs) => ({ totalMs }),
        maxBytes: largestAnswer,
        use: async (answer) => ({ ...toAnswer(answer), text: await answer.body.text() }),
      }),
    /** With the answer's body as a stream, which ends with an error when it breaks off or is silent for too long. */
    open: (request: S3Request) =>
      retrying(request, {
        timeouts: (firstByteMs) => ({ firstByteMs, idleMs: limits.idleMs }),
        maxBytes: Infinity,
        use: async (answer) => ({ ...toAnswer(answer), body: answer.body }),
      }),
    close: () => http.close(),
  };
};

interface Exchange<T> {
  /** Makes the time-outs of an attempt from its time. */
  timeouts: (attemptMs: number) => HttpTimeouts;
  /** The limit of a good answer. */
  maxBytes: number;
  use: (answer: HttpAnswer) => Promise<T>;
}

const isGood = (status: number): boolean => status >= 200 && status <= 299;

/** Signature version 4. The body's hash goes in, so that the service refuses what was changed on its way. */
const createSign = ({ endpoint, bucket, region, accessKeyId, secretAccessKey }: S3Config) => {
  const cache = new Map<string, ArrayBuffer>();
  return async ({ method, key, headers, body }: S3Request) => {
    const url = new URL(`${endpoint}/${bucket}${key === null ? '' : `/${key}`}`);
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers, 'x-amz-content-sha256': body?.sha256 ?? hashOfNothing },
      service: 's3',
      region,
      accessKeyId,
      secretAccessKey,
      cache,
    });
    const signed = await signer.sign();
    if (body !== undefined) signed.headers.set('content-length', String(body.sizeBytes));
    return { url: signed.url, headers: Object.fromEntries(signed.headers) };
  };
};

const hashOfNothing = createHash('sha256').digest('hex');

/** Reads the bytes of one attempt. Aborts `stalled` when nobody takes more of them for `ms`. */
const startUpload = (body: S3Body, ms: number) => {
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(new Error(`the upload stood still for ${ms} ms`)), ms);
  const watched = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of body.read()) {
      timer.refresh();
      yield chunk;
    }
  };
  const stream = Readable.from(watched(), { objectMode: false });
  // The request reports a failed read. An ended attempt destroys the stream, which nobody reads any more.
  stream.on('error', () => undefined);
  const end = (): void => {
    clearTimeout(timer);
    stream.destroy();
  };
  return { stream, stalled: stalled.signal, end };
};

const toAnswer = ({ status, headers }: HttpAnswer): S3Answer => ({
  status,
  header: (name) => headers[name]?.toString() ?? null,
});

const toS3Error = (request: S3Request, status: number, text: string): S3Error => {
  const code = /<Code>(\w{1,64})<\/Code>/.exec(text)?.[1] ?? null;
  const words = [nameOf(request), 'was answered with', status, code ?? ''];
  return new S3Error(words.join(' ').trim(), { status, code });
};

/** For the log: what was asked, without the address and its ids, which are authorities. */
const nameOf = ({ method, key }: S3Request): string => `${method} ${key === null ? 'bucket' : 'object'}`;

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

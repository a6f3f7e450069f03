import { createHash, webcrypto } from 'node:crypto';
import { addAbortSignal, type Readable } from 'node:stream';
import { AwsV4Signer } from 'aws4fetch';
import { Agent, request as send, type Dispatcher } from 'undici';
import type { S3Config } from '../media-settings.ts';
import { pause } from '../../kit/repeat.ts';
import { S3Error } from './s3-error.ts';
import { textOf } from './s3-xml.ts';

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Null: the bucket itself. */
  key: string | null;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array;
  signal?: AbortSignal | undefined;
}

export interface S3Answer {
  status: number;
  header(name: string): string | null;
}

/**
 * Signed calls to one bucket. Each is tried again a few times when the service is not reached or asks for it, so each must
 * be one that may be repeated. Throws S3Error on any answer but 2xx, or the signal's reason.
 */
export interface S3Client {
  /** With the whole answer, of at most 2 MiB. */
  call(request: S3Request): Promise<S3Answer & { text: string }>;
  /** With the answer's body as a stream, which ends with an error when it breaks off or is silent for too long. */
  open(request: S3Request): Promise<S3Answer & { body: Readable }>;
  close(): Promise<void>;
}

export interface S3Limits {
  connectMs: number;
  /** Of one attempt, up to the end of a short answer or the beginning of a streamed one. */
  attemptMs: number;
  /** The same for an attempt that carries bytes there. */
  uploadMs: number;
  /** Silence within a streamed answer. */
  idleMs: number;
  attempts: number;
  /** Before the second attempt; four times as long before each further one. */
  pauseMs: number;
}

export const defaultS3Limits: S3Limits = {
  connectMs: 5_000,
  attemptMs: 15_000,
  uploadMs: 60_000,
  idleMs: 30_000,
  attempts: 3,
  pauseMs: 200,
};

const largestAnswer = 2 * 1024 ** 2;

type Exchange<T> = (answer: Dispatcher.ResponseData) => Promise<T> | T;

export const createS3Client = (config: S3Config, limits: S3Limits): S3Client => {
  const dispatcher = new Agent({
    connect: { timeout: limits.connectMs },
    headersTimeout: 0,
    bodyTimeout: limits.idleMs,
    // Shorter than what services commonly allow, so that few requests meet a closing connection.
    keepAliveTimeout: 4_000,
  });
  const sign = createSign(config);

  /** One attempt: everything up to the end of `use` within its time. */
  const attempt = async <T>(request: S3Request, use: Exchange<T>): Promise<T> => {
    const deadline = startDeadline(request, request.body === undefined ? limits.attemptMs : limits.uploadMs);
    try {
      const { url, headers } = await sign(request);
      const answered = send(url, {
        dispatcher,
        method: request.method,
        headers,
        body: request.body ?? null,
        signal: deadline.signal,
      });
      // While it connects, undici does not hear an abort.
      const answer = await Promise.race([answered, deadline.expired]);
      if (answer.statusCode < 200 || answer.statusCode > 299)
        throw toS3Error(request, answer.statusCode, await readText(answer.body));
      return await Promise.race([use(answer), deadline.expired]);
    } catch (error) {
      if (deadline.signal.aborted) throw deadline.signal.reason;
      if (error instanceof S3Error) throw error;
      throw new S3Error(`${nameOf(request)} was not answered`, { status: null, code: null, cause: error });
    } finally {
      deadline.end();
    }
  };

  const retrying = async <T>(request: S3Request, use: Exchange<T>): Promise<T> => {
    for (let count = 1; ; count += 1) {
      request.signal?.throwIfAborted();
      try {
        return await attempt(request, use);
      } catch (error) {
        if (!(error instanceof S3Error) || !error.isTemporary || count >= limits.attempts) throw error;
      }
      await pause(limits.pauseMs * 4 ** (count - 1) * (0.5 + Math.random()), request.signal);
    }
  };

  return {
    call: (request) =>
      retrying(request, async (answer) => {
        const text = await readText(answer.body);
        // S3 begins some answers before it knows the outcome: a 200 may carry an error.
        if (rootIsError.test(text)) throw toS3Error(request, answer.statusCode, text);
        return { ...toAnswer(answer), text };
      }),
    open: (request) =>
      retrying(request, (answer) => {
        const { body } = answer;
        // Whoever reads hears of an error; one who leaves before the end need not.
        body.on('error', () => {});
        if (request.signal !== undefined) addAbortSignal(request.signal, body);
        return { ...toAnswer(answer), body };
      }),
    close: () => dispatcher.destroy(),
  };
};

/** Signature version 4. The body's hash goes in, so that the service refuses what was changed on its way. */
const createSign = ({ endpoint, bucket, region, accessKeyId, secretAccessKey }: S3Config) => {
  const cache = new Map<string, ArrayBuffer>();
  return async ({ method, key, query, headers, body }: S3Request) => {
    const url = new URL(`${endpoint}/${bucket}${key === null ? '' : `/${key}`}`);
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers, 'x-amz-content-sha256': await hashOf(body) },
      service: 's3',
      region,
      accessKeyId,
      secretAccessKey,
      cache,
    });
    const signed = await signer.sign();
    return { url: signed.url, headers: Object.fromEntries(signed.headers) };
  };
};

const hashOfNothing = createHash('sha256').digest('hex');

/** Off the event loop: a part has megabytes. */
const hashOf = async (body: Uint8Array | undefined): Promise<string> =>
  body === undefined
    ? hashOfNothing
    : Buffer.from(await webcrypto.subtle.digest('SHA-256', body)).toString('hex');

interface Deadline {
  signal: AbortSignal;
  /** Rejects with the signal's reason. */
  expired: Promise<never>;
  end(): void;
}

const startDeadline = (request: S3Request, attemptMs: number): Deadline => {
  const controller = new AbortController();
  const expired = Promise.withResolvers<never>();
  // Nobody may be waiting for it any more.
  expired.promise.catch(() => {});
  const stop = (reason: unknown): void => {
    controller.abort(reason);
    expired.reject(reason);
  };
  const timer = setTimeout(
    () => stop(new S3Error(`${nameOf(request)} took too long`, { status: null, code: null })),
    attemptMs,
  );
  const giveUp = (): void => stop(request.signal?.reason);
  request.signal?.addEventListener('abort', giveUp, { once: true });
  return {
    signal: controller.signal,
    expired: expired.promise,
    end: () => {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', giveUp);
    },
  };
};

const toAnswer = ({ statusCode, headers }: Dispatcher.ResponseData): S3Answer => ({
  status: statusCode,
  header: (name) => headers[name]?.toString() ?? null,
});

const rootIsError = /^\s*(?:<\?xml[^>]*\?>\s*)?<Error>/;

const toS3Error = (request: S3Request, status: number, text: string): S3Error => {
  const found = textOf(text, 'Code');
  const code = found !== null && /^\w{1,64}$/.test(found) ? found : null;
  const words = [nameOf(request), 'was answered with', status, code ?? ''];
  return new S3Error(words.join(' ').trim(), { status, code });
};

const readText = async (body: Readable): Promise<string> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.byteLength;
    if (length > largestAnswer) throw new RangeError('an answer of the bucket is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

/** For the log: what was asked, without the address and its ids, which are authorities. */
const nameOf = ({ method, key, query }: S3Request): string =>
  [method, key === null ? 'bucket' : 'object', ...Object.keys(query ?? {})].join(' ');

import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { ProviderTimeouts } from '../remote-settings.ts';
import { toConnectFailure } from '../openai/connect-failure.ts';
import { startDeadlines, type Deadlines } from '../openai/deadlines.ts';
import { guardedBody } from '../openai/guarded-body.ts';
import { ProviderError } from '../provider-error.ts';
import type { JsonBody } from './json-body.ts';
import { pacedBody } from './paced-body.ts';

export interface VideoUpstreamOptions {
  apiKey: string | null;
  timeouts: ProviderTimeouts;
}

export interface UpstreamAnswer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string | string[] | undefined>;
  /** The parsed JSON; undefined when the answer is none. */
  value: unknown;
}

export interface UpstreamFile {
  status: number;
  headers: UpstreamAnswer['headers'];
  /** Its file, or the error it answered. To be read to its end, or left. */
  body: AsyncGenerator<Uint8Array, void, undefined>;
}

/** An HTTP upstream that makes videos. Throws ProviderError, or the signal's reason after it aborts; any status is an answer. */
export interface VideoUpstream {
  get(url: string, signal: AbortSignal): Promise<UpstreamAnswer>;
  post(
    url: string,
    options: { body: JsonBody; headers?: Record<string, string>; signal: AbortSignal },
  ): Promise<UpstreamAnswer>;
  /** A GET of a file, streamed. */
  open(url: string, options: { maxBytes: number; signal: AbortSignal }): Promise<UpstreamFile>;
  close(): Promise<void>;
}

const jsonLimits = { totalBytes: 4 * 1024 ** 2, lineBytes: null };

/** Over undici, loaded when first needed, with connect, first byte, idle and total time-outs. Follows no redirects. */
export const createVideoUpstream = ({ apiKey, timeouts }: VideoUpstreamOptions): VideoUpstream => {
  let opening: Promise<{ undici: typeof import('undici'); dispatcher: Dispatcher }> | null = null;
  const connect = () => (opening ??= openAgent(timeouts));

  const send = async (
    url: string,
    options: { body: JsonBody | null; headers?: Record<string, string> },
    deadlines: Deadlines,
  ): Promise<Dispatcher.ResponseData> => {
    const { undici, dispatcher } = await connect();
    try {
      const answer = undici.request(url, {
        dispatcher,
        method: options.body === null ? 'GET' : 'POST',
        headers: {
          'user-agent': 'causeway',
          accept: '*/*',
          'accept-encoding': 'identity',
          ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
          ...(options.body === null
            ? {}
            : { 'content-type': 'application/json', 'content-length': String(options.body.lengthBytes) }),
          ...options.headers,
        },
        body: options.body === null ? null : Readable.from(options.body.chunks),
        signal: deadlines.signal,
      });
      // While it connects, undici does not hear an abort.
      return await Promise.race([answer, deadlines.expired]);
    } catch (error) {
      deadlines.end();
      throw deadlines.signal.aborted ? deadlines.signal.reason : toConnectFailure(error);
    }
  };

  const ask = async (
    url: string,
    { signal, ...options }: { body: JsonBody | null; headers?: Record<string, string>; signal: AbortSignal },
  ): Promise<UpstreamAnswer> => {
    const deadlines = startDeadlines(timeouts, signal);
    const answer = await send(url, options, deadlines);
    const chunks: Uint8Array[] = [];
    for await (const chunk of guardedBody(answer.body, deadlines, jsonLimits)) chunks.push(chunk);
    return { status: answer.statusCode, headers: answer.headers, value: parse(Buffer.concat(chunks)) };
  };

  return {
    get: (url, signal) => ask(url, { body: null, signal }),
    post: ask,
    open: async (url, { maxBytes, signal }) => {
      // The body's idle time-out leaves out the time of a slow reader, so the deadlines' own must not count it.
      const deadlines = startDeadlines({ ...timeouts, idleMs: timeouts.totalMs }, signal);
      const answer = await send(url, { body: null }, deadlines);
      deadlines.touch();
      const body: Readable = answer.body;
      return {
        status: answer.statusCode,
        headers: answer.headers,
        body: pacedBody(body, {
          maxBytes,
          idleMs: timeouts.idleMs,
          toFailure: (error) => (deadlines.signal.aborted ? deadlines.signal.reason : toBroken(error)),
          onEnd: () => deadlines.end(),
        }),
      };
    },
    close: async () => {
      if (opening !== null) await (await opening).dispatcher.destroy();
    },
  };
};

const openAgent = async (timeouts: ProviderTimeouts) => {
  const undici = await import('undici');
  const dispatcher: Dispatcher = new undici.Agent({
    connect: { timeout: timeouts.connectMs },
    headersTimeout: 0,
    bodyTimeout: 0,
    // Shorter than what servers and their proxies commonly allow, so that no request meets a closing connection.
    keepAliveTimeout: 4_000,
  });
  return { undici, dispatcher };
};

const parse = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
};

const toBroken = (error: unknown): unknown =>
  error instanceof ProviderError
    ? error
    : new ProviderError('the upstream connection broke in a file', {
        failure: 'retry_same',
        code: 'upstream_error',
        cause: error,
      });

import { Readable } from 'node:stream';
import { createHttpClient } from '../../http/http-client.ts';
import type { AnswerHead } from '../../http/send-request.ts';
import type { ProviderTimeouts } from '../remote-settings.ts';
import { toTransportFailure } from '../transport-failure.ts';
import type { JsonBody } from './json-body.ts';
import { resultBody } from './download-result.ts';

export interface VideoUpstreamOptions {
  apiKey: string | null;
  timeouts: ProviderTimeouts;
}

export interface UpstreamAnswer extends AnswerHead {
  /** The parsed JSON; undefined when the answer is none. */
  value: unknown;
}

export interface UpstreamFile extends AnswerHead {
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

const longestAnswer = 4 * 1024 ** 2;

/** Creates an upstream with connect, first byte, idle and total time-outs. It follows no redirects. */
export const createVideoUpstream = ({ apiKey, timeouts }: VideoUpstreamOptions): VideoUpstream => {
  const http = createHttpClient(timeouts);
  const authorization: Record<string, string> = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };

  const ask = async (
    url: string,
    request: { body: JsonBody | null; headers?: Record<string, string>; signal: AbortSignal },
  ): Promise<UpstreamAnswer> => {
    const { body, headers, signal } = request;
    try {
      const answer = await http.send(url, {
        method: body === null ? 'GET' : 'POST',
        body: body === null ? null : Readable.from(body.chunks),
        headers: { ...authorization, ...(body === null ? {} : headersOf(body)), ...headers },
        timeouts,
        signal,
        limits: () => ({ totalBytes: longestAnswer }),
      });
      return { status: answer.status, headers: answer.headers, value: parse(await answer.body.text()) };
    } catch (error) {
      throw toTransportFailure(error);
    }
  };

  return {
    get: (url, signal) => ask(url, { body: null, signal }),
    post: ask,
    open: async (url, { maxBytes, signal }) => {
      try {
        const { status, headers, body } = await http.send(url, {
          headers: authorization,
          timeouts,
          signal,
          limits: () => ({ totalBytes: maxBytes }),
        });
        return { status, headers, body: resultBody(body, signal) };
      } catch (error) {
        throw toTransportFailure(error);
      }
    },
    close: () => http.close(),
  };
};

const headersOf = ({ lengthBytes }: JsonBody): Record<string, string> => ({
  'content-type': 'application/json',
  'content-length': String(lengthBytes),
});

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

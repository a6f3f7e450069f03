import { createHttpClient } from '../../http/http-client.ts';
import type { AnswerHead, BodyLimits, HttpAnswer } from '../../http/send-request.ts';
import type { ProviderTimeouts } from '../remote-settings.ts';

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

export interface UpstreamFetch {
  /**
   * The part of WHATWG fetch that the `openai` package uses: a string or bytes as body in; status, headers,
   * text(), json() and an async iterable `body` out. Follows no redirects. Throws OutboundError, or the reason of
   * an aborted signal, also while the body is read.
   */
  fetch: Fetch;
  close(): Promise<void>;
}

const megabyte = 1024 ** 2;
const eventLimits: BodyLimits = { totalBytes: 128 * megabyte, lineBytes: 8 * megabyte };
/** An image in base64 is a third longer than itself. */
const jsonLimits: BodyLimits = { totalBytes: 48 * megabyte };
const otherLimits: BodyLimits = { totalBytes: 32 * megabyte };
/** How much of an answer that nobody wants is read away, so that its connection can be used again. */
const leftover = { bytes: 65_536, ms: 1_000 };

const limitsFor = ({ headers }: AnswerHead): BodyLimits => {
  const contentType = String(headers['content-type']);
  if (contentType.includes('event-stream')) return eventLimits;
  return contentType.includes('json') ? jsonLimits : otherLimits;
};

/** Headers that go upstream. The client's own ones tell of our platform, and may come from the environment. */
const forwardedHeaders = ['accept', 'authorization', 'content-type'];

/** Creates a fetch with connect, first byte, idle and total time-outs, at a fraction of the cost of the global one. */
export const createUpstreamFetch = (timeouts: ProviderTimeouts): UpstreamFetch => {
  const http = createHttpClient(timeouts);
  return {
    fetch: async (input, init = {}) => {
      const answer = await http.send(input instanceof Request ? input.url : input, {
        method: init.method === 'POST' ? 'POST' : 'GET',
        headers: headersOf(init),
        body: typeof init.body === 'string' || init.body instanceof Uint8Array ? init.body : null,
        signal: init.signal,
        timeouts,
        limits: limitsFor,
      });
      return toResponse(answer);
    },
    close: () => http.close(),
  };
};

const headersOf = (init: RequestInit): Record<string, string> => {
  const given = new Headers(init.headers);
  const headers: Record<string, string> = {};
  for (const name of forwardedHeaders) {
    const value = given.get(name);
    if (value !== null) headers[name] = value;
  }
  return headers;
};

/** A Response whose body is a plain async iterable: a web stream would glue chunks together, at many times the cost. */
const toResponse = ({ status, headers: given, body }: HttpAnswer): Response => {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  const isStatus = status >= 200 && status <= 599;
  return Object.defineProperties(new Response(null, { status: isStatus ? status : 502, headers }), {
    body: { value: readOrLeave(body) },
    text: { value: () => body.text() },
    json: { value: async () => JSON.parse(await body.text()) },
  });
};

/** The chunks of a body. A reader that stops early leaves the connection to be used again when little is left to read. */
const readOrLeave = (body: HttpAnswer['body']): AsyncIterable<Buffer> => ({
  [Symbol.asyncIterator]: () => {
    const chunks: AsyncIterator<Buffer, undefined> = body.iterator({ destroyOnReturn: false });
    return {
      next: () => chunks.next(),
      return: async () => {
        body
          .dump({ limit: leftover.bytes, signal: AbortSignal.timeout(leftover.ms) })
          .catch(() => body.destroy());
        return { done: true, value: undefined };
      },
    };
  },
});

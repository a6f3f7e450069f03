import { Agent, request, type Dispatcher } from 'undici';
import type { ProviderTimeouts } from '../remote-settings.ts';
import { ProviderError } from '../provider-error.ts';
import { toConnectFailure } from './connect-failure.ts';
import { startDeadlines, type Deadlines } from './deadlines.ts';
import { guardedBody, type BodyLimits } from './guarded-body.ts';

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

export interface UpstreamFetch {
  /**
   * The part of WHATWG fetch that the `openai` package uses: a string or bytes as body in; status, headers,
   * text(), json() and an async iterable `body` out. Follows no redirects. Throws ProviderError, or the reason of
   * an aborted signal, also while the body is read.
   */
  fetch: Fetch;
  close(): Promise<void>;
}

const megabyte = 1024 ** 2;
const eventLimits: BodyLimits = { totalBytes: 128 * megabyte, lineBytes: 8 * megabyte };
/** An image in base64 is a third longer than itself. */
const jsonLimits: BodyLimits = { totalBytes: 48 * megabyte, lineBytes: null };
const otherLimits: BodyLimits = { totalBytes: 32 * megabyte, lineBytes: null };

const limitsFor = (contentType: string | null): BodyLimits => {
  if (contentType?.includes('event-stream') === true) return eventLimits;
  return contentType?.includes('json') === true ? jsonLimits : otherLimits;
};

/** All that goes upstream; the client's own headers tell of our platform, and may come from the environment. */
const forwardedHeaders = ['accept', 'authorization', 'content-type'];

/** A fetch over undici.request, a fraction of the cost of the global one, with connect, first byte, idle and total time-outs. */
export const createUpstreamFetch = (timeouts: ProviderTimeouts): UpstreamFetch => {
  const dispatcher = new Agent({
    connect: { timeout: timeouts.connectMs },
    headersTimeout: 0,
    bodyTimeout: 0,
    // Shorter than what servers and their proxies commonly allow, so that no request meets a closing connection.
    keepAliveTimeout: 4_000,
  });
  return {
    fetch: async (input, init = {}) => {
      const url = toHttpUrl(input);
      const deadlines = startDeadlines(timeouts, init.signal ?? null);
      const answer = await send({ url, init, dispatcher, deadlines });
      return toResponse(answer, deadlines);
    },
    close: () => dispatcher.destroy(),
  };
};

const toHttpUrl = (input: string | URL | Request): URL => {
  const url = new URL(input instanceof Request ? input.url : input);
  if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  throw new ProviderError(`an upstream address of ${url.protocol} is not fetched`, {
    failure: 'ambiguous',
    code: 'upstream_error',
  });
};

const send = async ({
  url,
  init,
  dispatcher,
  deadlines,
}: {
  url: URL;
  init: RequestInit;
  dispatcher: Dispatcher;
  deadlines: Deadlines;
}): Promise<Dispatcher.ResponseData> => {
  try {
    const answer = request(url, {
      dispatcher,
      method: init.method === 'POST' ? 'POST' : 'GET',
      headers: headersOf(init),
      body: typeof init.body === 'string' || init.body instanceof Uint8Array ? init.body : null,
      signal: deadlines.signal,
    });
    // While it connects, undici does not hear an abort.
    return await Promise.race([answer, deadlines.expired]);
  } catch (error) {
    deadlines.end();
    throw deadlines.signal.aborted ? deadlines.signal.reason : toConnectFailure(error);
  }
};

const headersOf = (init: RequestInit): Record<string, string> => {
  const given = new Headers(init.headers);
  const headers: Record<string, string> = { 'user-agent': 'causeway', 'accept-encoding': 'identity' };
  for (const name of forwardedHeaders) {
    const value = given.get(name);
    if (value !== null) headers[name] = value;
  }
  return headers;
};

/** A Response whose body is a plain async iterable: a web stream would glue chunks together, at many times the cost. */
const toResponse = (answer: Dispatcher.ResponseData, deadlines: Deadlines): Response => {
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  const body = guardedBody(answer.body, deadlines, limitsFor(headers.get('content-type')));
  const text = async (): Promise<string> => (await gather(body)).toString('utf8');
  const status = answer.statusCode >= 200 && answer.statusCode <= 599 ? answer.statusCode : 502;
  return Object.defineProperties(new Response(null, { status, headers }), {
    body: { value: body },
    text: { value: text },
    json: { value: async () => JSON.parse(await text()) },
  });
};

const gather = async (body: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
};

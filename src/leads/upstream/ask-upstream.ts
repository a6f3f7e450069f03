import { createHttpClient, type HttpClient } from '../../http/http-client.ts';
import { OutboundError } from '../../http/outbound.ts';
import { leaveBody } from '../../http/send-request.ts';
import { callWithin } from '../../kit/deadline.ts';
import { createFairShareLimiter } from '../../kit/fair-share-limiter.ts';

export interface UpstreamRequest {
  method: 'GET' | 'POST' | 'DELETE';
  url: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** JSON; null: none is sent. */
  body: string | null;
}

export interface UpstreamAnswer {
  status: number;
  /** How long the upstream asks us to wait; null when it does not say, or says it by a date. */
  retryAfterSeconds: number | null;
  /** The encoding that the headers name, in lower case; null when they name none. */
  charset: string | null;
  /** The body; empty for a failure, whose status says what matters. */
  bytes: Buffer;
}

export type AskUpstream = ReturnType<typeof createAskUpstream>;

export interface AskUpstreamOptions {
  /** Up to the last byte; a wait for other calls counts too. */
  timeoutMs: number;
  /** The limit of an answer with a good status. */
  maxBytes: number;
  /** Calls at once, and more that may wait for them. */
  atOnce?: number;
  waiting?: number;
  /** Wraps the client of all calls, such as by one that pays. */
  wrap?: ((http: HttpClient) => HttpClient) | undefined;
}

const maxConnectMs = 5_000;

/** HTTP to the address of an upstream that the operator configured. */
export const createAskUpstream = ({
  timeoutMs,
  maxBytes,
  atOnce = 32,
  waiting = 128,
  wrap = (direct) => direct,
}: AskUpstreamOptions) => {
  const limiter = createFairShareLimiter({
    total: atOnce,
    queue: {
      total: waiting,
      refusal: () => new OutboundError('busy', 'Too many outbound calls are waiting.'),
    },
  });
  const http = wrap(createHttpClient({ connectMs: Math.min(maxConnectMs, timeoutMs) }));

  const exchange = async (request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer> => {
    const { method, url, headers, body } = request;
    const answer = await http.send(url, {
      method,
      headers: {
        accept: 'application/json',
        ...headers,
        ...(body === null ? {} : { 'content-type': 'application/json' }),
      },
      body,
      timeouts: {},
      signal,
      limits: () => ({ totalBytes: maxBytes }),
    });
    const isRead = isGood(answer.status);
    if (!isRead) leaveBody(answer.body);
    return {
      status: answer.status,
      retryAfterSeconds: readSeconds(answer.headers['retry-after']),
      charset: readCharset(answer.headers['content-type']),
      bytes: isRead ? Buffer.from(await answer.body.arrayBuffer()) : Buffer.alloc(0),
    };
  };

  return {
    /**
     * Any status is an answer; redirects are not followed. Throws OutboundError or a `TimeoutError`, whose messages hold
     * nothing of the request, or the signal's reason after it aborts.
     */
    ask: async (request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer> => {
      const call = async (within: AbortSignal): Promise<UpstreamAnswer> => {
        const release = await limiter.acquire({}, { signal: within });
        return exchange(request, within).finally(release);
      };
      return callWithin({ call, timeoutMs, signal });
    },
    close: (): Promise<void> => http.close(),
  };
};

export const isGood = (status: number): boolean => status >= 200 && status <= 299;

const readSeconds = (header: string | string[] | undefined): number | null =>
  typeof header === 'string' && /^\d{1,6}$/.test(header) ? Number(header) : null;

const readCharset = (header: string | string[] | undefined): string | null =>
  (typeof header === 'string' ? /;\s*charset="?([^\s;"]{1,40})/i.exec(header)?.[1]?.toLowerCase() : null) ??
  null;

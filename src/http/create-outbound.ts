import { startDeadline } from '../kit/deadline.ts';
import { createFairShareLimiter } from '../kit/fair-share-limiter.ts';
import { checkUrl, type CheckedUrl } from './check-url.ts';
import {
  checkedConnector,
  type ConnectOptions,
  createResolveHost,
  type ResolveHost,
} from './connect-checked.ts';
import { createHttpClient, loadUndici } from './http-client.ts';
import { OutboundError, type Outbound } from './outbound.ts';
import { sendRequest, tooLarge, type HttpAnswer, type HttpRequest } from './send-request.ts';

export interface OutboundOptions {
  /** For development: also allows addresses of this machine, over plain http and on any port. */
  allowsLoopback: boolean;
  /** The User-Agent of calls whose own headers have none. */
  userAgent: string;
  /** The most downloads of inputs that run at once. Downloads of results and posts have the same limit each. */
  atOnce?: number;
  /** The most inputs, and the most posts, that wait for their turn. One more fails with OutboundError `busy`. */
  waiting?: number;
  /** How long each of these waits before it fails so. */
  longestWaitMs?: number;
  resolve?: ResolveHost;
  ca?: string;
}

interface CallLimits {
  totalMs: number;
  signal: AbortSignal;
  accountId?: string | undefined;
}

/** Results wait as long as an upstream may take to hand one over. */
const longestResultWaitMs = 600_000;
const ownConnectMs = 5_000;
const maxRedirects = 3;
const redirects = new Set([301, 302, 303, 307, 308]);

export interface OutboundSend {
  /** Sends any request, without redirects. Any status is an answer, whose body is streamed. */
  send(url: string, request: HttpRequest): Promise<HttpAnswer>;
}

/** HTTP to addresses that users name. It asks no proxy and uses no connection twice. */
export const createOutbound = ({
  allowsLoopback,
  userAgent,
  atOnce = 64,
  waiting = 256,
  longestWaitMs = 20_000,
  resolve = createResolveHost(),
  ca,
}: OutboundOptions): Outbound & OutboundSend => {
  const closed = new AbortController();
  // Each has its own limiter, so that slow hosts that users name hold up neither posts nor results that are paid for.
  const limits = { atOnce, waiting, longestWaitMs, closed: closed.signal };
  const lanes = {
    inputs: createLane(limits),
    // There are as many as there are jobs, and none is refused.
    results: createLane({ ...limits, waiting: Infinity, longestWaitMs: longestResultWaitMs }),
    posts: createLane(limits),
  };
  const send = createSend({ resolve, ca });
  const own = createHttpClient({ connectMs: ownConnectMs });
  const follow = createFollow({ send, allowsLoopback });

  return {
    download: async (
      url,
      { maxBytes, idleMs, lane = 'inputs', redirects: most = maxRedirects, ...asked },
    ) => {
      const target = checkUrl(url, { allowsLoopback });
      const call = await lanes[lane](asked);
      try {
        const found = await follow(
          target,
          {
            headers: { 'user-agent': userAgent, accept: '*/*' },
            timeouts: { idleMs },
            signal: call.signal,
            limits: { totalBytes: maxBytes },
          },
          most,
        );
        found.body.once('close', call.end);
        assertWanted(found, maxBytes);
        return { contentType: readHeader(found, 'content-type'), body: found.body };
      } catch (error) {
        call.end();
        throw error;
      }
    },
    post: async (url, { body, headers, isOwn = false, ...asked }) => {
      const target = isOwn ? null : checkUrl(url, { allowsLoopback });
      const call = await lanes.posts(asked);
      const request: HttpRequest & { signal: AbortSignal } = {
        method: 'POST',
        headers: withAgent(userAgent, headers),
        body,
        timeouts: {},
        signal: call.signal,
        limits: { totalBytes: Infinity },
      };
      try {
        const answer = await (target === null ? own.send(url, request) : send(target, request));
        answer.body.destroy();
        return { status: answer.status, retryAfter: readHeader(answer, 'retry-after') ?? undefined };
      } finally {
        call.end();
      }
    },
    send: async (url, request) =>
      send(checkUrl(url, { allowsLoopback }), {
        ...request,
        headers: withAgent(userAgent, request.headers),
        signal: request.signal ?? closed.signal,
      }),
    close: async () => {
      closed.abort(new OutboundError('busy', 'The process is ending.'));
      await own.close();
    },
  };
};

/** Follows at most so many redirects, and checks the address of each. */
const createFollow =
  ({ send, allowsLoopback }: { send: ReturnType<typeof createSend>; allowsLoopback: boolean }) =>
  async (
    first: CheckedUrl,
    request: HttpRequest & { signal: AbortSignal },
    most: number,
  ): Promise<HttpAnswer> => {
    let target = first;
    for (let hop = 0; hop <= most; hop += 1) {
      const found = await send(target, request);
      if (!redirects.has(found.status)) return found;
      found.body.destroy();
      target = checkUrl(readLocation(found, target), { allowsLoopback });
    }
    throw new OutboundError('too_many_redirects', `The URL redirects more than ${most} times.`);
  };

/** Sends each request over a new connection: one that is used again would skip the check of the address. */
const createSend =
  (options: Omit<ConnectOptions, 'signal'>) =>
  async (target: CheckedUrl, request: HttpRequest & { signal: AbortSignal }): Promise<HttpAnswer> => {
    const { Client } = loadUndici();
    const client = new Client(target.url.origin, {
      connect: checkedConnector(target, { ...options, signal: request.signal }),
      allowH2: false,
      // The deadline is over all of it.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return sendRequest(target.url, { ...request, closes: true }, client);
  };

/** Calls that wait for the same places. The wait does not count as time of the call itself. */
const createLane = ({
  atOnce,
  waiting,
  longestWaitMs,
  closed,
}: Required<Pick<OutboundOptions, 'atOnce' | 'waiting' | 'longestWaitMs'>> & { closed: AbortSignal }) => {
  const limiter = createFairShareLimiter({
    total: atOnce,
    queue: {
      total: waiting,
      refusal: () => new OutboundError('busy', 'Too many outbound calls are waiting.'),
    },
  });
  /** Waits for a place and starts the call's time. `end` gives the place back; more than once does no harm. */
  return async ({ totalMs, signal, accountId }: CallLimits) => {
    const signals = [signal, closed];
    const turn = startDeadline({ totalMs: longestWaitMs, toError: toFailure('busy'), signals });
    const release = await limiter.acquire({ owner: accountId }, { signal: turn.signal }).finally(turn.end);
    const deadline = startDeadline({ totalMs, toError: toFailure('timeout'), signals });
    const end = (): void => {
      deadline.end();
      release();
    };
    return { signal: deadline.signal, end };
  };
};

const toFailure =
  (failure: 'busy' | 'timeout') =>
  (totalMs: number): OutboundError =>
    new OutboundError(failure, `The call took longer than ${totalMs} ms.`);

/** Throws OutboundError and ends the body unless the answer is a plain 2xx that claims to be small enough. */
const assertWanted = (found: HttpAnswer, maxBytes: number): void => {
  const failure = refusalOf(found, maxBytes);
  if (failure === null) return;
  found.body.destroy();
  throw failure;
};

const refusalOf = (found: HttpAnswer, maxBytes: number): OutboundError | null => {
  if (found.status < 200 || found.status > 299) return badStatus(found);
  const encoding = readHeader(found, 'content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity')
    return new OutboundError('encoded', 'The answer is compressed; it must be sent as it is.');
  return Number(readHeader(found, 'content-length')) > maxBytes ? tooLarge(maxBytes) : null;
};

/** Names of headers may be in any case: both would be sent. */
const withAgent = (userAgent: string, headers: Record<string, string> = {}): Record<string, string> =>
  Object.keys(headers).some((name) => name.toLowerCase() === 'user-agent')
    ? headers
    : { ...headers, 'user-agent': userAgent };

const readLocation = (found: HttpAnswer, { url }: CheckedUrl): string => {
  const location = readHeader(found, 'location');
  if (location === null || !URL.canParse(location, url.href)) throw badStatus(found);
  return new URL(location, url).href;
};

const badStatus = ({ status }: HttpAnswer): OutboundError =>
  new OutboundError('bad_status', `The host answered with status ${status}.`, { status });

const readHeader = ({ headers }: HttpAnswer, name: string): string | null => {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
};

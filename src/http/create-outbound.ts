import { createFairShareLimiter, type FairShareLimiter } from '../kit/fair-share-limiter.ts';
import { boundedBody, tooLarge } from './bounded-body.ts';
import { checkUrl, type CheckedUrl } from './check-url.ts';
import { startDeadline, type Deadline } from './deadline.ts';
import { exchange, type Exchange } from './exchange.ts';
import { OutboundError, type Outbound } from './outbound.ts';
import { createResolveHost, type ResolveHost } from './resolve-host.ts';

export interface OutboundOptions {
  /** For development: lets plain http and any port on addresses of this machine in as well. */
  allowsLoopback: boolean;
  /** Names the service to whoever is called, where the headers of a call do not. */
  userAgent: string;
  /** How many downloads of inputs, of results, and how many posts, run at once. */
  atOnce?: number;
  /** How many more inputs, and how many more posts, may wait; then OutboundError `busy`. */
  waiting?: number;
  /** How long each of these may wait; then the same. */
  longestWaitMs?: number;
  resolve?: ResolveHost;
  /** Certificate authorities (PEM) instead of the well-known ones. */
  ca?: string;
}

/** A call that has its place among those that run at once. */
interface Call {
  deadline: Deadline;
  /** Gives the place back; more than once does no harm. */
  end(): void;
}

/** Calls that wait for the same places. */
interface Lane {
  limiter: FairShareLimiter;
  /** Beside the time that the call has once it runs. */
  longestWaitMs: number;
}

interface BeginOptions {
  totalMs: number;
  signal: AbortSignal;
  accountId?: string | undefined;
}

/** For results: as long as an upstream may take to hand one over. */
const longestResultWaitMs = 600_000;
const maxRedirects = 3;
const redirects = new Set([301, 302, 303, 307, 308]);

/** HTTP to addresses that users name, over undici. Nothing is asked of proxies, and no connection is used twice. */
export const createOutbound = ({
  allowsLoopback,
  userAgent,
  atOnce = 64,
  waiting = 256,
  longestWaitMs = 20_000,
  resolve = createResolveHost(),
  ca,
}: OutboundOptions): Outbound => {
  const createLimiter = (maxWaiting: number): FairShareLimiter =>
    createFairShareLimiter({
      total: atOnce,
      queue: {
        total: maxWaiting,
        refusal: () => new OutboundError('busy', 'Too many outbound calls are waiting.'),
      },
    });
  // Apart, so that slow hosts that users name never keep posts waiting, nor results that are made and paid for.
  const lanes: Record<'inputs' | 'results' | 'posts', Lane> = {
    inputs: { limiter: createLimiter(waiting), longestWaitMs },
    // As many as there are jobs, and none is refused.
    results: { limiter: createLimiter(Infinity), longestWaitMs: longestResultWaitMs },
    posts: { limiter: createLimiter(waiting), longestWaitMs },
  };
  const closed = new AbortController();

  const begin = async (
    { limiter, longestWaitMs }: Lane,
    { totalMs, signal, accountId }: BeginOptions,
  ): Promise<Call> => {
    const signals = [signal, closed.signal];
    const turn = startDeadline({ totalMs: longestWaitMs, failure: 'busy', signals });
    const release = await limiter.acquire({ owner: accountId }, { signal: turn.signal }).finally(turn.end);
    const deadline = startDeadline({ totalMs, failure: 'timeout', signals });
    return {
      deadline,
      end: () => {
        deadline.end();
        release();
      },
    };
  };

  const follow = async (first: CheckedUrl, deadline: Deadline): Promise<Exchange> => {
    const headers = { 'user-agent': userAgent, accept: '*/*' };
    let target = first;
    for (let hop = 0; hop <= maxRedirects; hop += 1) {
      const found = await exchange(target, { method: 'GET', headers, body: null, deadline, resolve, ca });
      if (!redirects.has(found.answer.statusCode)) return found;
      found.end();
      target = checkUrl(readLocation(found, target), { allowsLoopback });
    }
    throw new OutboundError('too_many_redirects', `The URL redirects more than ${maxRedirects} times.`);
  };

  return {
    download: async (url, { maxBytes, lane = 'inputs', ...limits }) => {
      const target = checkUrl(url, { allowsLoopback });
      const call = await begin(lanes[lane], limits);
      try {
        const found = await follow(target, call.deadline);
        try {
          assertWanted(found, maxBytes);
        } catch (error) {
          found.end();
          throw error;
        }
        const onClose = (): void => {
          found.end();
          call.end();
        };
        const body = boundedBody(found.answer.body, { maxBytes, deadline: call.deadline, onClose });
        return { contentType: readHeader(found, 'content-type'), body };
      } catch (error) {
        call.end();
        throw error;
      }
    },
    post: async (url, { body, headers, ...limits }) => {
      const target = checkUrl(url, { allowsLoopback });
      const call = await begin(lanes.posts, limits);
      try {
        const { answer, end } = await exchange(target, {
          method: 'POST',
          headers: hasUserAgent(headers) ? headers : { ...headers, 'user-agent': userAgent },
          body,
          deadline: call.deadline,
          resolve,
          ca,
        });
        end();
        const retryAfter = answer.headers['retry-after'];
        return {
          status: answer.statusCode,
          retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
        };
      } finally {
        call.end();
      }
    },
    close: async () => closed.abort(new OutboundError('busy', 'The process is ending.')),
  };
};

/** Throws OutboundError unless the answer is a plain 2xx that claims to be small enough. */
const assertWanted = (found: Exchange, maxBytes: number): void => {
  const { statusCode } = found.answer;
  if (statusCode < 200 || statusCode > 299) throw badStatus(found);
  const encoding = readHeader(found, 'content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity')
    throw new OutboundError('encoded', 'The answer is compressed; it must be sent as it is.');
  if (Number(readHeader(found, 'content-length')) > maxBytes) throw tooLarge(maxBytes);
};

/** In whatever case it is written: both would be sent. */
const hasUserAgent = (headers: Record<string, string>): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === 'user-agent');

const readLocation = (found: Exchange, { url }: CheckedUrl): string => {
  const location = readHeader(found, 'location');
  if (location === null || !URL.canParse(location, url.href)) throw badStatus(found);
  return new URL(location, url).href;
};

const badStatus = ({ answer }: Exchange): OutboundError =>
  new OutboundError('bad_status', `The host answered with status ${answer.statusCode}.`);

const readHeader = ({ answer }: Exchange, name: string): string | null => {
  const value = answer.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
};

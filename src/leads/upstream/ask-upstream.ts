import type { Dispatcher } from 'undici';
import { toConnectFailure } from '../../providers/openai/connect-failure.ts';
import { startDeadlines, type Deadlines } from '../../providers/openai/deadlines.ts';
import { guardedBody } from '../../providers/openai/guarded-body.ts';
import { startDeadline } from '../../http/deadline.ts';
import { OutboundError } from '../../http/outbound.ts';
import { createFairShareLimiter } from '../../kit/fair-share-limiter.ts';

export interface UpstreamRequest {
  method: 'GET' | 'POST';
  url: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** JSON; null: none is sent. */
  body: string | null;
}

export interface UpstreamAnswer {
  status: number;
  /** What the upstream asks us to wait; null when it does not say, or by a date. */
  retryAfterSeconds: number | null;
  /** In which the body says that it is encoded, in lower case; null when it does not say. */
  charset: string | null;
  /** The body; empty for a failure whose page is too long or too slow. */
  bytes: Buffer;
}

/** HTTP to the address of an upstream that the operator configured. */
export interface AskUpstream {
  /**
   * Any status is an answer; redirects are not followed. Throws ProviderError or OutboundError (`busy`) whose messages
   * hold nothing of the request, or the signal's reason after it aborts.
   */
  ask(request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer>;
  close(): Promise<void>;
}

export interface AskUpstreamOptions {
  /** From the connection to the last byte, a wait for a place before it included. */
  timeoutMs: number;
  /** Of an answer with a good status; others are read a little, for what they say of themselves. */
  maxBytes: number;
  /** Calls at once, and more that may wait for them. */
  atOnce?: number;
  waiting?: number;
}

const longestConnectMs = 5_000;
/** Of a failure the status says what matters: its page is not waited for, as the next source is to be asked. */
const longestFailureMs = 500;
const maxFailureBytes = 65_536;
const noBytes = Buffer.alloc(0);

/** Over undici, which is loaded with the first call. */
export const createAskUpstream = ({
  timeoutMs,
  maxBytes,
  atOnce = 32,
  waiting = 128,
}: AskUpstreamOptions): AskUpstream => {
  const limiter = createFairShareLimiter({
    total: atOnce,
    queue: {
      total: waiting,
      refusal: () => new OutboundError('busy', 'Too many outbound calls are waiting.'),
    },
  });
  let opening: ReturnType<typeof openAgent> | null = null;

  const send = async (request: UpstreamRequest, deadlines: Deadlines): Promise<Dispatcher.ResponseData> => {
    const { undici, dispatcher } = await (opening ??= openAgent(Math.min(longestConnectMs, timeoutMs)));
    try {
      const answer = undici.request(request.url, {
        dispatcher,
        method: request.method,
        headers: {
          'user-agent': 'causeway',
          accept: 'application/json',
          ...request.headers,
          'accept-encoding': 'identity',
          ...(request.body === null ? {} : { 'content-type': 'application/json' }),
        },
        body: request.body,
        signal: deadlines.signal,
      });
      // While it connects, undici does not hear an abort.
      return await Promise.race([answer, deadlines.expired]);
    } catch (error) {
      throw deadlines.signal.aborted ? deadlines.signal.reason : toConnectFailure(error);
    }
  };

  const exchange = async (request: UpstreamRequest, deadlines: Deadlines): Promise<UpstreamAnswer> => {
    const answer = await send(request, deadlines);
    const { statusCode: status, headers } = answer;
    // A body that is given up when all of it has come fails once more, when nobody listens any longer.
    answer.body.on('error', () => undefined);
    const read = (totalBytes: number): Promise<Buffer> =>
      gather(guardedBody(answer.body, deadlines, { totalBytes, lineBytes: null }));
    const readFailure = (): Promise<Buffer> => {
      const giveUp = setTimeout(() => answer.body.destroy(), longestFailureMs);
      return read(maxFailureBytes)
        .catch(() => noBytes)
        .finally(() => clearTimeout(giveUp));
    };
    const bytes = isGood(status) ? await read(maxBytes) : await readFailure();
    return {
      status,
      retryAfterSeconds: readSeconds(headers['retry-after']),
      charset: readCharset(headers['content-type']),
      bytes,
    };
  };

  return {
    ask: async (request, signal) => {
      const waitingFor = startDeadline({ totalMs: timeoutMs, failure: 'busy', signals: [signal] });
      const startMs = performance.now();
      const release = await limiter.acquire({}, { signal: waitingFor.signal }).finally(waitingFor.end);
      const totalMs = Math.max(1, timeoutMs - (performance.now() - startMs));
      const deadlines = startDeadlines(
        { connectMs: totalMs, firstByteMs: totalMs, idleMs: totalMs, totalMs },
        signal,
      );
      try {
        const answer = await exchange(request, deadlines);
        signal.throwIfAborted();
        return answer;
      } finally {
        deadlines.end();
        release();
      }
    },
    close: async () => {
      if (opening !== null) await (await opening).dispatcher.destroy();
    },
  };
};

export const isGood = (status: number): boolean => status >= 200 && status <= 299;

const openAgent = async (connectMs: number) => {
  const undici = await import('undici');
  const dispatcher: Dispatcher = new undici.Agent({
    connect: { timeout: connectMs },
    headersTimeout: 0,
    bodyTimeout: 0,
    // Shorter than what servers and their proxies commonly allow, so that no request meets a closing connection.
    keepAliveTimeout: 4_000,
  });
  return { undici, dispatcher };
};

const gather = async (body: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
};

const readSeconds = (header: string | string[] | undefined): number | null =>
  typeof header === 'string' && /^\d{1,6}$/.test(header) ? Number(header) : null;

const readCharset = (header: string | string[] | undefined): string | null =>
  (typeof header === 'string' ? /;\s*charset="?([^\s;"]{1,40})/i.exec(header)?.[1]?.toLowerCase() : null) ??
  null;

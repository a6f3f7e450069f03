import { createHttpClient } from '../../http/http-client.ts';
import { OutboundError } from '../../http/outbound.ts';
import { readText } from '../../http/read-text.ts';
import type { HttpAnswer } from '../../http/send-request.ts';
import type { SignCdpRequest } from './cdp-jwt.ts';

export type RemoteAnswer =
  /** `body`: undefined when it is no JSON, too long, or was cut off. */
  | { kind: 'answered'; status: number; body: unknown }
  /** No connection came about, so that no byte of the request left this process. `why` is a short code, for the log. */
  | { kind: 'unreached'; why: string }
  /** The request may or may not have arrived. */
  | { kind: 'lost'; why: string };

export interface RemoteHttp {
  get(path: string, signal: AbortSignal): Promise<RemoteAnswer>;
  post(path: string, body: unknown, signal: AbortSignal): Promise<RemoteAnswer>;
}

export interface RemoteHttpOptions {
  /** Without a trailing slash. */
  url: string;
  /** Null: requests go unsigned. */
  sign: SignCdpRequest | null;
}

const connectMs = 10_000;
const longestAnswer = 1024 ** 2;

const causeOf = (error: unknown): unknown => (error instanceof Error ? (error.cause ?? error) : error);

/** Returns the error code of a socket: `ECONNREFUSED`, `TimeoutError`. */
const codeOf = (error: unknown): string => {
  const cause = causeOf(error);
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code;
  return cause instanceof Error ? cause.name : 'unknown';
};

const readBody = async (answer: HttpAnswer): Promise<unknown> => {
  try {
    return JSON.parse(await readText(answer, longestAnswer));
  } catch {
    // The status was heard all the same, and some say all that matters.
    return undefined;
  }
};

/**
 * One request to a facilitator each, without retries. Redirects are answers, not ways: proof and signature are meant
 * for this facilitator only.
 */
export const createRemoteHttp = ({ url, sign }: RemoteHttpOptions): RemoteHttp => {
  const http = createHttpClient({ connectMs, allowsHttp2: false });
  const authorize = async (method: 'GET' | 'POST', path: string): Promise<Record<string, string>> =>
    sign === null ? {} : { authorization: `Bearer ${await sign({ method, url: `${url}${path}` })}` };

  const ask = async (
    path: string,
    init: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string; signal: AbortSignal },
  ): Promise<RemoteAnswer> => {
    let authorization: Record<string, string>;
    try {
      authorization = await authorize(init.method, path);
    } catch (error) {
      return { kind: 'unreached', why: `signing: ${codeOf(error)}` };
    }
    try {
      const answer = await http.send(`${url}${path}`, {
        ...init,
        headers: { accept: 'application/json', ...init.headers, ...authorization },
        // The signal has a limit of time.
        timeouts: {},
        limits: () => ({ totalBytes: longestAnswer }),
      });
      return { kind: 'answered', status: answer.status, body: await readBody(answer) };
    } catch (error) {
      const isUnreached = error instanceof OutboundError && error.failure === 'unreachable';
      return { kind: isUnreached ? 'unreached' : 'lost', why: codeOf(error) };
    }
  };

  return {
    get: (path, signal) => ask(path, { method: 'GET', headers: {}, signal }),
    post: (path, body, signal) =>
      ask(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal,
      }),
  };
};

import { createHttpClient } from '../../../http/http-client.ts';
import { OutboundError } from '../../../http/outbound.ts';
import { type HttpAnswer, readText } from '../../../http/send-request.ts';
import type { SignCdpRequest } from './cdp-jwt.ts';

export type RemoteAnswer =
  /** `body`: undefined when it is no JSON, too long, or was cut off. */
  | { kind: 'answered'; status: number; body: unknown }
  /** No connection came about, so that no byte of the request left this process. `why` is a short code, for the log. */
  | { kind: 'unreached'; why: string }
  /** The request may or may not have arrived. */
  | { kind: 'lost'; why: string };

const connectMs = 10_000;
const longestAnswer = 1024 ** 2;

/** Returns the error code of a socket: `ECONNREFUSED`, `TimeoutError`. */
const codeOf = (error: unknown): string => {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
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
 * Sends single requests to the facilitator at `url`, without retries. A request with a body is a POST. Redirects are
 * answers, not ways: proof and signature are meant for this facilitator only. `sign`: null leaves requests unsigned.
 */
export const createRemoteHttp = ({ url, sign }: { url: string; sign: SignCdpRequest | null }) => {
  const http = createHttpClient({ connectMs, allowsHttp2: false });
  return async (
    path: string,
    { signal, body }: { signal: AbortSignal; body?: unknown },
  ): Promise<RemoteAnswer> => {
    const method = body === undefined ? 'GET' : 'POST';
    const headers: Record<string, string> = { accept: 'application/json' };
    if (body !== undefined) headers['content-type'] = 'application/json';
    try {
      if (sign !== null) headers['authorization'] = `Bearer ${await sign({ method, url: `${url}${path}` })}`;
    } catch (error) {
      return { kind: 'unreached', why: `signing: ${codeOf(error)}` };
    }
    try {
      const answer = await http.send(`${url}${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal,
        // The signal has a limit of time.
        timeouts: {},
        limits: { totalBytes: longestAnswer },
      });
      return { kind: 'answered', status: answer.status, body: await readBody(answer) };
    } catch (error) {
      const isUnreached = error instanceof OutboundError && error.failure === 'unreachable';
      return { kind: isUnreached ? 'unreached' : 'lost', why: codeOf(error) };
    }
  };
};

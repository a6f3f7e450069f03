import { createHttpClient } from '../http/http-client.ts';
import { OutboundError } from '../http/outbound.ts';
import type { AnswerHead, HttpAnswer, HttpRequest } from '../http/send-request.ts';
import { ProviderError } from './provider-error.ts';
import type { RemoteConfig } from './remote-settings.ts';

export interface UpstreamRequest extends Pick<HttpRequest, 'headers'> {
  /** Without one the request is a GET. */
  body?: NonNullable<HttpRequest['body']>;
  signal: AbortSignal;
}

export interface UpstreamAnswer extends AnswerHead {
  text: string;
  /** The parsed JSON; undefined when the text is none. */
  value: unknown;
}

const usualBytes = 4 * 1024 ** 2;

export type Upstream = ReturnType<typeof createUpstream>;

/**
 * An HTTP service with its key and connections, and with connect, first byte, idle and total time-outs. Any status is an
 * answer, and redirects are not followed. Throws ProviderError, or the signal's reason.
 */
export const createUpstream = ({ apiKey, timeouts }: Pick<RemoteConfig, 'apiKey' | 'timeouts'>) => {
  const http = createHttpClient(timeouts);
  const authorization: Record<string, string> = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };

  /** The body must be read to its end or destroyed. It fails with OutboundError, or the signal's reason. */
  const open = async (
    url: string,
    { body, headers, signal, limits }: UpstreamRequest & Pick<HttpRequest, 'limits'>,
  ): Promise<HttpAnswer> => {
    try {
      return await http.send(url, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { ...authorization, ...headers },
        ...(body === undefined ? {} : { body }),
        timeouts,
        signal,
        limits,
      });
    } catch (error) {
      throw toTransportFailure(error);
    }
  };

  return {
    open,
    /** Reads a whole answer, of at most `maxBytes` (by default 4 MB). */
    ask: async (
      url: string,
      { maxBytes = usualBytes, ...request }: UpstreamRequest & { maxBytes?: number },
    ): Promise<UpstreamAnswer> =>
      readAnswer(await open(url, { ...request, limits: () => ({ totalBytes: maxBytes }) })),
    close: () => http.close(),
  };
};

/** Reads the rest of an answer. Throws ProviderError, or the signal's reason. */
export const readAnswer = async ({ status, headers, body }: HttpAnswer): Promise<UpstreamAnswer> => {
  try {
    const text = await body.text();
    return { status, headers, text, value: parseJson(text) };
  } catch (error) {
    throw toTransportFailure(error);
  }
};

/** Returns undefined for a text that is not JSON. */
const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** What may follow the wanted part of an answer and is read away. */
const leftover = { bytes: 65_536, ms: 1_000 };

/** Leaves the rest of an answer. A short rest is read away, so that the connection can be used again. */
export const leaveBody = (body: HttpAnswer['body']): void => {
  body.dump({ limit: leftover.bytes, signal: AbortSignal.timeout(leftover.ms) }).catch(() => body.destroy());
};

/** Maps a failure of the HTTP client to what the router may do about it. Returns any other error as it is. */
export const toTransportFailure = (error: unknown): unknown => {
  if (!(error instanceof OutboundError)) return error;
  const message = `the upstream did not answer: ${error.message}`;
  const isBadCertificate = error.failure === 'bad_certificate';
  // The request may have been carried out.
  if (error.failure !== 'unreachable' && !isBadCertificate)
    return new ProviderError(message, { failure: 'ambiguous', cause: error });
  return new ProviderError(message, {
    failure: isBadCertificate || isTlsFault(error.cause) ? 'retry_other' : 'retry_same',
    code: 'upstream_unavailable',
    cause: error,
  });
};

/** The other side speaks no TLS, or not ours, and will not the next time either. */
const isTlsFault = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && /^ERR_(?:SSL|TLS)/.test(String(cause.code));

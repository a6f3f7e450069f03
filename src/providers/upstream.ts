import { createHttpClient } from '../http/http-client.ts';
import { OutboundError } from '../http/outbound.ts';
import { PurchaseError } from '../http/pay-settings.ts';
import { parseJson } from '../kit/json.ts';
import {
  type AnswerHead,
  type HttpAnswer,
  type HttpRequest,
  type HttpTimeouts,
  type ReceiveRequest,
} from '../http/send-request.ts';
import { ProviderError } from './provider-error.ts';
import type { ProviderContext } from './provider.ts';
import type { RemoteConfig } from './remote-settings.ts';
import { toStatusFailure, type UpstreamAnswer } from './upstream-failure.ts';

export interface UpstreamRequest extends Pick<HttpRequest, 'headers'> {
  /** Without one the request is a GET. */
  body?: NonNullable<HttpRequest['body']>;
  signal: AbortSignal;
  /** Default: those of the service. */
  timeouts?: HttpTimeouts;
}

const usualBytes = 4 * 1024 ** 2;

export type UpstreamConfig = Pick<RemoteConfig, 'apiKey' | 'timeouts' | 'sendsTraceparent' | 'pay'>;

export type Upstream = ReturnType<typeof createUpstream>;

/** An HTTP service. Throws ProviderError, or the signal's reason. Any status, also a redirect, is an answer. */
export const createUpstream = (
  { apiKey, timeouts, sendsTraceparent, pay = null }: UpstreamConfig,
  {
    name = '',
    traceHeaders,
    payFor,
  }: Partial<Pick<ProviderContext, 'name' | 'traceHeaders' | 'payFor'>> = {},
) => {
  const direct = createHttpClient(timeouts);
  const http = pay === null ? direct : (payFor?.(direct, { upstream: `providers.${name}`, pay }) ?? direct);
  const authorization: Record<string, string> = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };

  const toRequest = <Request extends UpstreamRequest>({ body, headers, ...request }: Request) => ({
    timeouts,
    ...request,
    method: body === undefined ? ('GET' as const) : ('POST' as const),
    headers: { ...authorization, ...(sendsTraceparent === true ? traceHeaders?.() : undefined), ...headers },
    ...(body === undefined ? {} : { body }),
  });

  /** The body must be read to its end or destroyed. It fails with OutboundError, or the signal's reason. */
  const open = async (
    url: string,
    request: UpstreamRequest & Pick<HttpRequest, 'limits'>,
  ): Promise<HttpAnswer> => http.send(url, toRequest(request)).catch(throwTransportFailure);

  /** Hands over the body as it comes, see `receive` of http/send-request.ts. */
  const receive = async (
    url: string,
    request: UpstreamRequest & Pick<ReceiveRequest, 'limits' | 'onData'>,
  ): Promise<AnswerHead> => http.receive(url, toRequest(request)).catch(throwTransportFailure);

  const receiveWhole = async (
    url: string,
    { maxBytes, ...request }: UpstreamRequest & { maxBytes: number },
  ): Promise<[AnswerHead, Buffer[]]> => {
    const chunks: Buffer[] = [];
    const onData = (chunk: Buffer): boolean => {
      chunks.push(chunk);
      return false;
    };
    return [await receive(url, { ...request, limits: { totalBytes: maxBytes }, onData }), chunks];
  };

  return {
    open,
    receive,
    /** Returns the body of an answer of a status 2xx. Throws ProviderError for any other status. */
    collect: async (url: string, request: Parameters<typeof receiveWhole>[1]): Promise<Buffer[]> => {
      const [head, chunks] = await receiveWhole(url, request);
      if (!isSuccess(head)) throw toStatusFailure(toAnswer(head, chunks));
      return chunks;
    },
    /** Reads a whole answer, of at most 4 MB. */
    ask: async (url: string, request: UpstreamRequest): Promise<UpstreamAnswer> =>
      toAnswer(...(await receiveWhole(url, { ...request, maxBytes: usualBytes }))),
    close: () => http.close(),
  };
};

export const isSuccess = ({ status }: { status: number }): boolean => status >= 200 && status <= 299;

const utf8 = new TextDecoder();

/** Makes an answer of its head and the bytes of its body. */
export const toAnswer = (head: AnswerHead, chunks: readonly Buffer[]): UpstreamAnswer => {
  const [first] = chunks;
  const text = utf8.decode(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks));
  return { ...head, text, value: parseJson(text) };
};

/** Maps a failure of the HTTP client to what the router may do about it. Throws any other error as it is. */
const throwTransportFailure = (error: unknown): never => {
  if (error instanceof PurchaseError)
    throw new ProviderError(error.message, {
      ...(error.mayBePaid
        ? { failure: 'ambiguous' as const }
        : { failure: 'retry_other' as const, code: 'upstream_unavailable' as const }),
      cause: error,
    });
  if (!(error instanceof OutboundError)) throw error;
  const message = `the upstream did not answer: ${error.message}`;
  const isBadCertificate = error.failure === 'bad_certificate';
  // The request may have been carried out.
  if (error.failure !== 'unreachable' && !isBadCertificate)
    throw new ProviderError(message, { failure: 'ambiguous', cause: error });
  throw new ProviderError(message, {
    failure: isBadCertificate || isTlsFault(error.cause) ? 'retry_other' : 'retry_same',
    code: 'upstream_unavailable',
    cause: error,
  });
};

/** The other side speaks no TLS, or not ours, and will not the next time either. */
const isTlsFault = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && /^ERR_(?:SSL|TLS)/.test(String(cause.code));

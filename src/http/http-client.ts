import { toConnectFailure } from './connect-failure.ts';
import { sendRequest, type HttpAnswer, type HttpRequest } from './send-request.ts';

export interface HttpClientOptions {
  /** How long a connection may take, its TLS handshake included. */
  connectMs: number;
  /** How many redirects are followed; by default none, and a redirect is an answer. */
  maxRedirects?: number;
  /** Whether a server may choose HTTP/2; by default it may. */
  allowsHttp2?: boolean;
}

/** HTTP to addresses that the operator configured. Connections are kept and used again. */
export interface HttpClient {
  /** Sends one request, without repeating it. Throws as `sendRequest`. */
  send(url: string | URL, request: HttpRequest): Promise<HttpAnswer>;
  /** Ends all connections; answers under way fail. */
  close(): Promise<void>;
}

/** Loads undici with the first request. */
export const createHttpClient = (options: HttpClientOptions): HttpClient => {
  let opening: ReturnType<typeof openAgent> | null = null;
  return {
    send: async (url, { headers, ...request }) => {
      opening ??= openAgent(options).catch((error: unknown) => {
        opening = null;
        throw error;
      });
      const { dispatcher } = await opening;
      const usual = { 'user-agent': 'causeway', accept: '*/*' };
      return sendRequest(url, { ...request, headers: { ...usual, ...headers } }, dispatcher);
    },
    close: async () => {
      await (await opening)?.agent.destroy();
    },
  };
};

const openAgent = async ({ connectMs, maxRedirects = 0, allowsHttp2 = true }: HttpClientOptions) => {
  const { Agent, buildConnector, interceptors } = await import('undici');
  const connect = buildConnector({ timeout: connectMs, allowH2: allowsHttp2 });
  const agent = new Agent({
    connect: (options, callback) =>
      connect(options, (...[error, socket]) => {
        if (error === null) callback(null, socket);
        else callback(toConnectFailure(error), null);
      }),
    allowH2: allowsHttp2,
    // The request has its own time-outs.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Shorter than what servers and their proxies commonly allow, so that few requests meet a closing connection.
    keepAliveTimeout: 4_000,
  });
  const redirect = interceptors.redirect({ maxRedirections: maxRedirects });
  return { agent, dispatcher: maxRedirects === 0 ? agent : agent.compose(redirect) };
};

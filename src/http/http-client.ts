import { Agent, buildConnector, interceptors } from 'undici';
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

export const createHttpClient = ({
  connectMs,
  maxRedirects = 0,
  allowsHttp2 = true,
}: HttpClientOptions): HttpClient => {
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
  const dispatcher =
    maxRedirects === 0 ? agent : agent.compose(interceptors.redirect({ maxRedirections: maxRedirects }));
  return {
    send: (url, { headers, ...request }) =>
      sendRequest(
        url,
        { ...request, headers: { 'user-agent': 'causeway', accept: '*/*', ...headers } },
        dispatcher,
      ),
    close: () => agent.destroy(),
  };
};

import { toConnectFailure } from './outbound.ts';
import {
  receive,
  sendRequest,
  type AnswerHead,
  type HttpAnswer,
  type HttpRequest,
  type ReceiveRequest,
} from './send-request.ts';
import { createRequire } from 'node:module';
import type * as undici from 'undici';

export interface HttpClientOptions {
  /** How long a connection may take, its TLS handshake included. */
  connectMs: number;
  /** How many redirects are followed; by default none, and a redirect is an answer. */
  maxRedirects?: number;
}

export type HttpClient = ReturnType<typeof createHttpClient>;

/** HTTP to addresses that the operator configured. Connections are kept and used again. Loads undici with the first request. */
export const createHttpClient = (options: HttpClientOptions) => {
  let opened: ReturnType<typeof openAgent> | null = null;
  const usual = { 'user-agent': 'causeway', accept: '*/*' };
  return {
    /** Sends one request, without repeating it. Throws as `sendRequest`. */
    send: async (url: string | URL, { headers, ...request }: HttpRequest): Promise<HttpAnswer> =>
      sendRequest(
        url,
        { ...request, headers: { ...usual, ...headers } },
        (opened ??= openAgent(options)).dispatcher,
      ),
    /** Sends one request, and hands over its answer as it comes. Throws as `receive`. */
    receive: async (url: string | URL, { headers, ...request }: ReceiveRequest): Promise<AnswerHead> =>
      receive(
        url,
        { ...request, headers: { ...usual, ...headers } },
        (opened ??= openAgent(options)).dispatcher,
      ),
    /** Ends all connections; answers under way fail. */
    close: async (): Promise<void> => opened?.agent.destroy(),
  };
};

const openAgent = ({ connectMs, maxRedirects = 0 }: HttpClientOptions) => {
  const { Agent, buildConnector, redirect } = loadUndici();
  // Calls that share a connection of HTTP/2 would all fail when it dies in silence, and each new one with them.
  const allowH2 = false;
  const connect = buildConnector({ timeout: connectMs, allowH2 });
  const agent = new Agent({
    connect: (options, callback) =>
      connect(options, (...[error, socket]) => {
        if (error === null) callback(null, socket);
        else callback(toConnectFailure(error), null);
      }),
    allowH2,
    // The request has its own time-outs.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Shorter than what servers and their proxies commonly allow, so that few requests meet a closing connection.
    keepAliveTimeout: 4_000,
  });
  const follow = redirect({ maxRedirections: maxRedirects });
  return { agent, dispatcher: maxRedirects === 0 ? agent : agent.compose(follow) };
};

type Undici = Pick<typeof undici, 'Agent' | 'Client' | 'buildConnector'> & {
  redirect: typeof undici.interceptors.redirect;
};

const require = createRequire(import.meta.url);
let loaded: Undici | null = null;

/** Loads the used parts of undici: its index loads 12 MB of others. The version is pinned, so the files are known. */
export const loadUndici = (): Undici => {
  // The types are declared for the index alone.
  const part = (name: string): never => require(`undici/lib/${name}.js`) as never;
  const load = (): Undici => {
    const dispatcher: typeof undici.Dispatcher = part('dispatcher/dispatcher');
    // The index does the same, so that a dispatcher has `request`.
    Object.assign(dispatcher.prototype, part('api/index'));
    return {
      Agent: part('dispatcher/agent'),
      Client: part('dispatcher/client'),
      buildConnector: part('core/connect'),
      redirect: part('interceptor/redirect'),
    };
  };
  return (loaded ??= load());
};

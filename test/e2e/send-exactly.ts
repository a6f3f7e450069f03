import { once } from 'node:events';
import { request as startRequest, type Agent, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

export interface ExactRequest {
  method?: string;
  /** As it goes into the request line: nothing is normalised. */
  path: string;
  /** In order, with the case that they have here; a name may come twice. */
  headers?: readonly (readonly [name: string, value: string])[];
  body?: string | null;
  /** Whose connections are used; absent: one of its own. */
  agent?: Agent;
}

export interface ExactAnswer {
  status: number;
  /** Lower case names. */
  headers: Record<string, string | undefined>;
  body: string;
  /** The port of our end: the same one is the same connection. */
  localPort: number | undefined;
}

const timeoutMs = 60_000;

/** One HTTP/1.1 request with the very bytes that are asked for, which `fetch` would put right. */
export const sendExactly = async (
  url: string,
  { method = 'GET', path, headers = [], body = null, agent }: ExactRequest,
): Promise<ExactAnswer> => {
  const { hostname, port, host } = new URL(url);
  const hasHost = headers.some(([name]) => name.toLowerCase() === 'host');
  const length: [string, string][] = body === null ? [] : [['Content-Length', `${Buffer.byteLength(body)}`]];
  const request = startRequest({
    hostname,
    port,
    method,
    path,
    headers: [...(hasHost ? [] : [['Host', host]]), ...headers, ...length].flat(),
    signal: AbortSignal.timeout(timeoutMs),
    ...(agent === undefined ? { agent: false } : { agent }),
  });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const { localPort } = response.socket;
  return {
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [name, value?.toString()]),
    ),
    body: await text(response),
    localPort,
  };
};

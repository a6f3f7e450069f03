import { Mismatch } from './outcomes.ts';

export interface CallOptions {
  method?: string;
  /** Sent as JSON; a string is sent as it is. Makes the call a POST. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Null sends no key. Default: the customer's key. */
  key?: string | null;
}

/** One complete answer. */
export interface Answer {
  /** Method, path and body, such as `POST /v1/images/generations {…}`, for messages. */
  request: string;
  status: number;
  headers: Headers;
  bytes: Buffer;
  /** The parsed body; undefined when it is not JSON. */
  json: unknown;
}

/** Calls the server under test like any HTTP client. */
export interface Client {
  call(path: string, options?: CallOptions): Promise<Answer>;
  /** Reads only the beginning of an answer, then closes the connection. */
  callAndLeave(path: string, options: CallOptions): Promise<{ status: number; headers: Headers }>;
}

export interface ClientOptions {
  baseUrl: string;
  apiKey: string;
  /** For one whole call. */
  timeoutMs: number;
  requestsPerSecond: number;
}

const longestAnswer = 64 * 1024 * 1024;

export const createClient = (options: ClientOptions): Client => {
  const { baseUrl, apiKey, timeoutMs } = options;
  const pace = createPace(1000 / options.requestsPerSecond);

  const open = async (path: string, { method, body, headers, key = apiKey }: CallOptions) => {
    await pace();
    return fetch(path.startsWith('http') ? path : baseUrl + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  };

  /** Sends a call and reads its answer. An interrupted call is a fault of the server. */
  const ask = async <T>(
    path: string,
    callOptions: CallOptions,
    read: (response: Response, request: string) => Promise<T>,
  ): Promise<T> => {
    const request = nameOf(path, callOptions);
    const startedAt = performance.now();
    try {
      return await read(await open(path, callOptions), request);
    } catch (error) {
      const ms = Math.round(performance.now() - startedAt);
      throw new Mismatch(`${request}: no answer after ${ms} ms (${reasonOf(error)})`, { cause: error });
    }
  };

  return {
    call: (path, callOptions = {}) =>
      ask(path, callOptions, async (response, request) => {
        const bytes = await readLimited(response);
        return { request, status: response.status, headers: response.headers, bytes, json: parse(bytes) };
      }),
    callAndLeave: (path, callOptions) =>
      ask(path, callOptions, async (response) => {
        const reader = response.body?.getReader();
        await reader?.read();
        await reader?.cancel();
        return { status: response.status, headers: response.headers };
      }),
  };
};

/** Returns the method, the address and the beginning of the body. */
const nameOf = (path: string, { method, body }: CallOptions): string => {
  if (body === undefined) return `${method ?? 'GET'} ${path}`;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return `${method ?? 'POST'} ${path} ${text.length > 160 ? `${text.slice(0, 160)}…` : text}`;
};

/** Starts calls at least `everyMs` apart. */
const createPace = (everyMs: number): (() => Promise<void>) => {
  let next = 0;
  return async () => {
    const now = performance.now();
    next = Math.max(now, next + everyMs);
    if (next > now) await new Promise((resolve) => setTimeout(resolve, next - now));
  };
};

const readLimited = async (response: Response): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > longestAnswer) throw new Error('the answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
};

const parse = (bytes: Buffer): unknown => {
  if (bytes.length > 4 * 1024 * 1024) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    // Not JSON. A check that needs JSON reports it.
    return undefined;
  }
};

/** The message of an error; of a failed connection also why it failed. */
export const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
};

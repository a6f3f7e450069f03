import { readLimited } from './read-limited.ts';

export interface RemoteAnswer {
  status: number;
  body: unknown;
}

export interface RemoteHttp {
  /** Null when there was no answer, or one without JSON. */
  get(path: string, signal: AbortSignal): Promise<RemoteAnswer | null>;
  post(path: string, body: unknown, signal: AbortSignal): Promise<RemoteAnswer | null>;
}

/** One request to a facilitator each, without retries. Errors are not kept: they would carry its address. */
export const createRemoteHttp = (url: string, fetch: typeof globalThis.fetch): RemoteHttp => {
  const ask = async (path: string, init: RequestInit): Promise<RemoteAnswer | null> => {
    try {
      const response = await fetch(`${url}${path}`, init);
      return { status: response.status, body: JSON.parse(await readLimited(response)) };
    } catch {
      return null;
    }
  };
  return {
    get: (path, signal) => ask(path, { signal }),
    post: (path, body, signal) =>
      ask(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal,
      }),
  };
};

import { Pool } from 'undici';

export interface LoadRequest {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: string;
}

export interface Expected {
  status: number;
  /** Every answer contains it. */
  text: string;
}

export interface Load {
  url: string;
  connections: number;
  /** The request of a caller; `turn` counts the requests of all callers. */
  next: (turn: number) => { request: LoadRequest; expected: Expected };
  /** Callers begin requests for so many seconds, and until there were `least`. */
  seconds: number;
  least?: number;
  /** They begin no more than so many together. */
  most?: number;
}

/** Sends requests over kept-alive connections, one at a time on each. Returns the time of each. Throws on a wrong answer. */
export const runLoad = async ({ url, connections, next, seconds, least = 0, most = Infinity }: Load) => {
  const pool = new Pool(url, { connections, pipelining: 1 });
  const timesMs: number[] = [];
  const startedMs = performance.now();
  let turn = 0;
  const call = async (): Promise<void> => {
    while (turn < most && (turn < least || performance.now() - startedMs < seconds * 1000)) {
      const { request, expected } = next(turn++);
      const sentMs = performance.now();
      const { statusCode, body } = await pool.request(request);
      const text = await body.text();
      timesMs.push(performance.now() - sentMs);
      if (statusCode !== expected.status || !text.includes(expected.text))
        throw new Error(`${request.method} ${request.path} answered ${statusCode}: ${text.slice(0, 500)}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, call));
  } finally {
    await pool.destroy();
  }
  return { timesMs, seconds: (performance.now() - startedMs) / 1000 };
};

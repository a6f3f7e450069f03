import { once } from 'node:events';
import KeyvRedis, { createClient } from '@keyv/redis';
import { throttle } from '../kit/repeat.ts';
import type { Log } from '../kit/log.ts';
import { callWithin } from '../kit/deadline.ts';
import { createCircuitBreaker, failuresInARow } from '../kit/circuit-breaker.ts';

export interface CacheStore {
  get(key: string): Promise<string | undefined>;
  set(key: string, text: string, ttlMs?: number): Promise<void>;
  delete(key: string): Promise<boolean>;
}

const connectTimeoutMs = 2_000;
const firstReconnectMs = 50;
const maxReconnectMs = 1_000;
/*
 * A host that vanished closes no connection; it is noticed by silence on the socket. Writes count as life there, so
 * the breaker must stay open longer than `silenceMs`, and a healthy connection must be pinged more often.
 */
const pingIntervalMs = 1_000;
const silenceMs = 4_000;
const breakerOpenMs = 5_000;
const breakerMaxFailures = 5;
/** The commands that may wait to be sent or answered; one more fails at once. */
const maxPendingCommands = 20_000;
const logIntervalMs = 60_000;

const openClient = (url: string) =>
  createClient({
    url,
    disableOfflineQueue: true,
    commandsQueueMaxLength: maxPendingCommands,
    pingInterval: pingIntervalMs,
    socket: {
      connectTimeout: connectTimeoutMs,
      socketTimeout: silenceMs,
      reconnectStrategy: (retries) => Math.min(firstReconnectMs * 2 ** Math.min(retries, 16), maxReconnectMs),
    },
  });

type RedisClient = ReturnType<typeof openClient>;

export type RedisConnection = ReturnType<typeof createRedisConnection>;

/**
 * A connection to the Redis that replicas share. Redis is optional: a call without an answer in time returns undefined, and
 * after a few such calls Redis is not asked for some seconds. Connects to `url` (redis: or rediss:) at the first call, and reconnects until it is closed. Callers wait for the first
 * attempt to connect within their own time-out, and for no later one.
 */
export const createRedisConnection = ({ url, log }: { url: string; log: Log }) => {
  const client = openClient(url);
  const store = new KeyvRedis<string>(client, { throwOnErrors: true });
  const breaker = createCircuitBreaker({
    opensAfter: failuresInARow(breakerMaxFailures),
    openMs: breakerOpenMs,
    probeMs: breakerOpenMs,
  });
  const reportFault = throttle<unknown>(logIntervalMs, (error, leftOut) => {
    log.warn(
      { err: error, leftOut, redis: new URL(url).host },
      'Redis does not answer: until it does, limits hold per process and nothing is cached. Start it, or correct REDIS_URL',
    );
  });
  let isClosed = false;
  const onFault = (error: unknown): void => {
    if (!isClosed) reportFault(error);
  };
  const dialler = watchDialling(client, { onFault, onReady: () => breaker.succeeded() });

  /** Undefined if Redis failed or was too slow; the command may still be carried out. Never throws. */
  const attempt = async <T>(command: () => Promise<T>, timeoutMs: number): Promise<T | undefined> => {
    if (isClosed || breaker.enter() === null) return undefined;
    let isExpired = false;
    const run = async (): Promise<T> => {
      await dialler.firstDial();
      if (isExpired) throw new Error('Redis was connected too late for this command');
      if (!client.isReady) throw new Error('Redis is not connected');
      return command();
    };
    try {
      const value = await callWithin({ call: run, timeoutMs });
      breaker.succeeded();
      return value;
    } catch (error) {
      isExpired = true;
      breaker.failed();
      onFault(error);
      return undefined;
    }
  };

  return {
    /** The node-redis client, for libraries that send commands themselves. Used only inside `attempt`. */
    client,
    attempt,
    /** Connects now, so that the log tells at once when Redis does not answer. Never rejects. */
    check: async (): Promise<void> => {
      await attempt(() => client.ping(), connectTimeoutMs + pingIntervalMs);
    },
    /** Opens a store for a cache. A fault reads as a miss, and a write that fails is lost. */
    openStore: ({ timeoutMs }: { timeoutMs: number }): CacheStore => ({
      get: (key) => attempt(() => store.get<string>(key), timeoutMs),
      set: async (key, text, ttlMs) => {
        await attempt(() => store.set(key, text, ttlMs), timeoutMs);
      },
      delete: async (key) => (await attempt(() => store.delete(key), timeoutMs)) ?? false,
    }),
    async close(): Promise<void> {
      if (isClosed) return;
      isClosed = true;
      await dialler.idle();
      if (client.isOpen) client.destroy();
      dialler.giveUp();
    },
  };
};

const watchDialling = (
  client: RedisClient,
  { onFault, onReady }: { onFault: (error: unknown) => void; onReady: () => void },
) => {
  let isOpening = false;
  let first: Promise<void> | undefined;
  const givenUp = new AbortController();
  client.on('error', (error: unknown) => {
    isOpening = false;
    onFault(error);
  });
  client.on('connect', () => void (isOpening = false));
  client.on('reconnecting', () => void (isOpening = true));
  client.on('ready', onReady);

  const dial = async (): Promise<void> => {
    isOpening = true;
    const outcome = settled(client, 'ready', givenUp.signal);
    client.connect().catch(onFault);
    await outcome;
  };
  return {
    /** Dials at the first call. Resolves when that dial succeeded or failed. */
    firstDial: (): Promise<void> => (first ??= dial()),
    /** Resolves when no socket is being opened: one that opens after `destroy` would stay open. */
    async idle(): Promise<void> {
      if (isOpening) await settled(client, 'connect');
    },
    giveUp: (): void => givenUp.abort(),
  };
};

/** Resolves at `event`, when `signal` aborts, or at an error, which the client's error listener reports. */
const settled = async (
  client: RedisClient,
  event: 'connect' | 'ready',
  signal?: AbortSignal,
): Promise<void> => {
  await once(client, event, { signal }).catch(() => undefined);
};

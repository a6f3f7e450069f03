import type { Release } from '../kit/fair-share-limiter.ts';
import type { MemoryBudget } from './memory-budget.ts';
import type { IncomingMessage } from 'node:http';

/** The memory that one request holds of the budget, as its operation sees it. */
export interface RequestMemory {
  /** Takes `bytes` more. Throws AppError `overloaded` when they are not free in time, or the signal's reason. */
  take(bytes: number, signal: AbortSignal): Promise<void>;
  /** Releases everything but this share of the body's cost, once the body has been parsed. */
  settleBody(share: number): void;
  /** Keeps the rest until `ended` has settled as well. */
  holdUntil(ended: Promise<unknown>): void;
}

export interface BodyMemory extends RequestMemory {
  /** Takes the cost of the body, or the most it may cost (see `bodyCost`). Throws like `take`. */
  takeBody(bytes: number): Promise<void>;
  measureBody(bytes: number): void;
}

/** Releases everything when every promise given to `holdUntil` has settled. */
export const createRequestMemory = (options: {
  budget: MemoryBudget;
  signal: AbortSignal;
  accountId: string | undefined;
  /** The share of a body's cost that the transport holds until the answer is out. */
  leastBodyShare?: number;
}): BodyMemory => {
  const { budget, signal, accountId, leastBodyShare = 0 } = options;
  const releases: Release[] = [];
  const body = { cost: 0, bytes: 0, release: (_keptBytes: number): void => undefined };
  let moreBytes = 0;
  let users = 0;
  let isOver = false;
  let turn: Promise<unknown> = Promise.resolve();

  const reserve = async (bytes: number, ended: AbortSignal): Promise<Release> => {
    const heldBytes = body.bytes + moreBytes;
    const release = await budget.reserve(bytes, { signal: ended, accountId, heldBytes });
    if (isOver) release();
    releases.push(release);
    return release;
  };

  /** One after the other, as each reservation depends on the bytes already held. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
  };

  const keepOfBody = (bytes: number): void => {
    body.bytes = Math.min(body.bytes, bytes);
    body.release(body.bytes);
  };

  const leave = (): void => {
    users -= 1;
    if (users > 0) return;
    isOver = true;
    for (const release of releases) release();
  };

  return {
    take: (bytes, ended) =>
      inTurn(async () => {
        await reserve(bytes, ended);
        moreBytes += bytes;
      }),
    takeBody: (bytes) =>
      inTurn(async () => {
        if (bytes === 0) return;
        body.release = await reserve(bytes, signal);
        body.cost = bytes;
        body.bytes = bytes;
      }),
    measureBody: (bytes) => {
      body.cost = Math.min(body.cost, bytes);
      keepOfBody(body.cost);
    },
    settleBody: (share) => keepOfBody(body.cost * Math.max(share, leastBodyShare)),
    holdUntil: (ended) => {
      users += 1;
      void ended.then(leave, leave);
    },
  };
};

/** For a connection that serves one request after the other. */
export const unboundedMemory: RequestMemory = {
  take: () => Promise.resolve(),
  settleBody: () => undefined,
  holdUntil: () => undefined,
};

export interface WatchSenderOptions {
  periodMs?: number;
  leastBytes?: number;
}

/** After the first period, a body may take this many at most. */
const maxPeriods = 8;

/**
 * Cuts off a sender who sends nothing of a body in the first period, in a later one less than `leastBytes` or than an
 * eighth of the announced length, or for longer than nine periods, as memory is reserved for all of the body. The watch ends
 * with the body; the returned function ends it before.
 */
export const watchSender = (
  request: IncomingMessage,
  { periodMs = 20_000, leastBytes = 64 * 1024 }: WatchSenderOptions = {},
): (() => void) => {
  if (request.destroyed || request.complete) return () => undefined;
  const { socket } = request;
  let seen = socket.bytesRead;
  let needed = 1;
  let periods = 0;
  const look = (): void => {
    if (request.destroyed || request.complete) return end();
    periods += 1;
    if (socket.bytesRead - seen < needed || periods > maxPeriods) request.destroy();
    seen = socket.bytesRead;
    needed = Math.max(leastBytes, Number(request.headers['content-length'] ?? 0) / maxPeriods);
  };
  const timer = setInterval(look, periodMs);
  const end = (): void => {
    clearInterval(timer);
    request.off('close', end);
  };
  request.once('close', end);
  return end;
};

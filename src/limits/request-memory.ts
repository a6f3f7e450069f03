import type { Release } from '../kit/fair-share-limiter.ts';
import type { MemoryBudget } from './memory-budget.ts';

/** What one request holds of the budget for memory, as its operation deals with it. */
export interface RequestMemory {
  /** Takes so many bytes more. Throws AppError `overloaded` when there are none in time, or the signal's reason. */
  take(bytes: number, signal: AbortSignal): Promise<void>;
  /** The body has been worked up: all but this share of what it cost is given back. */
  settleBody(share: number): void;
  /** Nothing of the rest is given back before this has settled as well. */
  holdUntil(ended: Promise<unknown>): void;
}

/** The same, as its transport deals with it. */
export interface BodyMemory extends RequestMemory {
  /** Takes what the body costs, or will cost at most; see `bodyCost`. Throws like `take`. */
  takeBody(bytes: number): Promise<void>;
  /** The body has come and costs no more than this. */
  measureBody(bytes: number): void;
}

export interface RequestMemoryOptions {
  budget: MemoryBudget;
  /** Ends the wait for the body's memory. */
  signal: AbortSignal;
  accountId: string | undefined;
  /** Of a body's cost, what the transport holds until the answer is out. */
  leastBodyShare?: number;
}

/** Gives everything back when all that it is held until has settled, and nothing before. */
export const createRequestMemory = ({
  budget,
  signal,
  accountId,
  leastBodyShare = 0,
}: RequestMemoryOptions): BodyMemory => {
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

  /** One after the other: what each waits for depends on what is held. */
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

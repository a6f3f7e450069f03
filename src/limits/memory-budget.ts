import { AppError } from '../kit/errors.ts';
import { createFairShareLimiter, type Release } from '../kit/fair-share-limiter.ts';

export interface ReserveOptions {
  signal: AbortSignal;
  /** Undefined: no limit of its own. */
  accountId?: string | undefined;
  /** The bytes that the same request holds already: together they count at most as the whole budget. */
  heldBytes?: number;
}

const accountShare = 0.75;

const retryAfterSeconds = 5;

export type MemoryBudget = ReturnType<typeof createMemoryBudget>;

export const createMemoryBudget = (options: {
  totalBytes: number;
  longestWaitMs?: number;
  maxWaiting?: number;
}) => {
  const { totalBytes, longestWaitMs = 20_000, maxWaiting = 1_000 } = options;
  const limiter = createFairShareLimiter({
    total: totalBytes,
    perOwner: { owner: totalBytes * accountShare },
    queue: {
      total: maxWaiting,
      perOwner: { owner: maxWaiting },
      longestWaitMs,
      refusal: () =>
        new AppError('overloaded', 'The service has too many large requests under way. Try again shortly.', {
          retryAfterSeconds,
        }),
    },
  });
  let waiting = 0;
  return {
    /**
     * Waits, in the order of the calls, until `bytes` are free, and returns a function that releases them, or all but some
     * of them. More than the whole budget counts as the whole budget. One account may hold three quarters of it: beyond
     * that it waits, and others overtake it. Throws AppError `overloaded` when the wait is too long or too many wait, and
     * the signal's reason when it aborts.
     */
    reserve: (bytes: number, { signal, accountId, heldBytes }: ReserveOptions): Promise<Release> => {
      waiting += 1;
      return limiter
        .acquire({ owner: accountId }, { signal, units: bytes, heldUnits: heldBytes })
        .finally(() => (waiting -= 1));
    },
    usage: () => ({ usedBytes: totalBytes - limiter.free, waiting }),
  };
};

/**
 * The memory that each byte of a request body costs: as it came, as text, parsed, written for the store and copied to its
 * thread, and once more for the upstream.
 */
const costPerByte = 8;
/** The part of that cost that remains after parsing: the texts that the call still uses. */
export const parsedShare = 2 / costPerByte;
/**
 * The memory that each byte of a text job's input costs: its text, and the text and the bytes of what goes upstream. The bytes
 * of pictures cost the same, as they are in base64 each time.
 */
export const textJobCostPerByte = 4;
/** The same as a part of a body's cost. */
export const textJobShare = textJobCostPerByte / costPerByte;
/** Bodies up to this size are not counted. */
export const smallBodyBytes = 64 * 1024;

/** Returns the largest body of a call. One without a key stays small, so that strangers use up no memory. */
export const maxBodyOf = (caller: object | null, maxBytes: number): number =>
  caller === null ? Math.min(smallBodyBytes, maxBytes) : maxBytes;

/** Returns the bytes to reserve for a body of this `content-length`, 0 for none; without it, for the largest body allowed. */
export const bodyCost = (contentLength: string | undefined, maxBytes: number): number => {
  const length = contentLength === undefined ? maxBytes : Number(contentLength);
  if (!Number.isFinite(length)) return maxBytes * costPerByte;
  return length <= smallBodyBytes ? 0 : Math.min(length, maxBytes) * costPerByte;
};

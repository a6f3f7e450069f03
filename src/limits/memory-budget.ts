import { AppError } from '../kit/errors.ts';

/** What large requests under way may take of memory together. */
export interface MemoryBudget {
  /**
   * Waits, in the order of asking, until so many bytes are free; answers the way to give back all of them, or all but so
   * many, which may be called more than once. More than the whole budget counts as the whole. What one account holds already
   * leaves a quarter to the others: beyond that it waits, and others overtake it. Throws AppError `overloaded` when the wait
   * is too long or too many wait, and the signal's reason when it aborts.
   */
  reserve(bytes: number, options: ReserveOptions): Promise<(keptBytes?: number) => void>;
}

export interface ReserveOptions {
  signal: AbortSignal;
  /** For whom, where that is known. */
  accountId?: string | undefined;
  /** What the same request holds already: together they count at most as the whole. */
  heldBytes?: number;
}

export interface MemoryBudgetOptions {
  totalBytes: number;
  longestWaitMs?: number;
  mostWaiting?: number;
}

interface Ask {
  bytes: number;
  accountId: string | undefined;
  heldBytes: number;
}

interface Waiter extends Ask {
  admit(): void;
}

/** Of the budget, for what one account holds at once. */
const accountShare = 0.75;

const retryAfterSeconds = 5;

export const createMemoryBudget = ({
  totalBytes,
  longestWaitMs = 20_000,
  mostWaiting = 1_000,
}: MemoryBudgetOptions): MemoryBudget => {
  let free = totalBytes;
  const held = new Map<string, number>();
  const waiting = new Set<Waiter>();

  const hold = (bytes: number, accountId: string | undefined): void => {
    free -= bytes;
    if (accountId === undefined) return;
    const now = (held.get(accountId) ?? 0) + bytes;
    if (now === 0) held.delete(accountId);
    else held.set(accountId, now);
  };

  const take = ({ bytes, accountId }: Ask): ((keptBytes?: number) => void) => {
    hold(bytes, accountId);
    let left = bytes;
    return (keptBytes = 0) => {
      if (left <= keptBytes) return;
      hold(keptBytes - left, accountId);
      left = keptBytes;
      admitWaiting();
    };
  };

  /** A request beside which its account holds nothing may have any size. */
  const isInTurn = ({ bytes, accountId, heldBytes }: Ask): boolean => {
    const already = accountId === undefined ? 0 : (held.get(accountId) ?? 0);
    return already <= heldBytes || already + bytes <= totalBytes * accountShare;
  };

  /** First come, first served: a small one does not overtake a large one, which would else wait for ever. */
  const admitWaiting = (): void => {
    for (const waiter of waiting) {
      if (!isInTurn(waiter)) continue;
      if (waiter.bytes > free) return;
      waiting.delete(waiter);
      waiter.admit();
    }
  };

  return {
    reserve: async (asked, { signal, accountId, heldBytes = 0 }) => {
      signal.throwIfAborted();
      const bytes = Math.min(asked, Math.max(totalBytes - heldBytes, 0));
      const ask = { bytes, accountId, heldBytes };
      const isNext = isInTurn(ask) && !waiting.values().some(isInTurn);
      if (isNext && ask.bytes <= free) return take(ask);
      if (waiting.size >= mostWaiting) throw overloaded();
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          waiting.delete(waiter);
        };
        const fail = (error: unknown): void => {
          leave();
          reject(error);
          admitWaiting();
        };
        const onAbort = (): void => fail(signal.reason);
        const timer = setTimeout(() => fail(overloaded()), longestWaitMs);
        const waiter: Waiter = {
          ...ask,
          admit: () => {
            leave();
            resolve(take(ask));
          },
        };
        waiting.add(waiter);
        signal.addEventListener('abort', onAbort, { once: true });
      });
    },
  };
};

const overloaded = (): AppError =>
  new AppError('overloaded', 'The service has too many large requests under way. Try again shortly.', {
    retryAfterSeconds,
  });

/**
 * What a request body costs of memory for each of its bytes: as it came, as text, parsed, written for the store and copied
 * to its thread, and once more for the upstream.
 */
const costPerByte = 8;
/** Of that, what is left once a body has been parsed and worked up: its texts, as its call still has them. */
export const parsedShare = 2 / costPerByte;
/**
 * What a text job works from: for each byte, its text, and the text and the bytes of what goes upstream. That holds for
 * the bytes of pictures too, which are in base64 each time.
 */
export const textJobCostPerByte = 4;
/** The same of what a body costs. */
export const textJobShare = textJobCostPerByte / costPerByte;
/** Bodies up to this are not counted. */
export const smallBodyBytes = 64 * 1024;

/** The bytes to reserve for a body of this `content-length`; without one, for the largest that is taken. 0: nothing. */
export const bodyCost = (contentLength: string | undefined, maxBytes: number): number => {
  const length = contentLength === undefined ? maxBytes : Number(contentLength);
  if (!Number.isFinite(length)) return maxBytes * costPerByte;
  return length <= smallBodyBytes ? 0 : Math.min(length, maxBytes) * costPerByte;
};

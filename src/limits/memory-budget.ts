import { AppError } from '../errors.ts';

/** What large requests under way may take of memory together. */
export interface MemoryBudget {
  /**
   * Waits, in the order of asking, until so many bytes are free; answers the way to give them back, which may be called
   * more than once. More than the whole budget counts as the whole. What one account holds already leaves a quarter to the
   * others: beyond that it waits, and others overtake it. Throws AppError `overloaded` when the wait is too long or too many
   * wait, and the signal's reason when it aborts.
   */
  reserve(bytes: number, options: ReserveOptions): Promise<() => void>;
}

export interface ReserveOptions {
  signal: AbortSignal;
  /** For whom, where that is known. */
  accountId?: string | undefined;
}

export interface MemoryBudgetOptions {
  totalBytes: number;
  longestWaitMs?: number;
  mostWaiting?: number;
}

interface Ask {
  bytes: number;
  accountId: string | undefined;
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

  const change = ({ bytes, accountId }: Ask, sign: 1 | -1): void => {
    free -= sign * bytes;
    if (accountId === undefined) return;
    const now = (held.get(accountId) ?? 0) + sign * bytes;
    if (now === 0) held.delete(accountId);
    else held.set(accountId, now);
  };

  const take = (ask: Ask): (() => void) => {
    change(ask, 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      change(ask, -1);
      admitWaiting();
    };
  };

  /** One who holds nothing may have any size. */
  const isInTurn = ({ bytes, accountId }: Ask): boolean => {
    const already = accountId === undefined ? undefined : held.get(accountId);
    return already === undefined || already + bytes <= totalBytes * accountShare;
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
    reserve: async (asked, { signal, accountId }) => {
      signal.throwIfAborted();
      const ask = { bytes: Math.min(asked, totalBytes), accountId };
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
/** Bodies up to this are not counted. */
export const smallBodyBytes = 64 * 1024;

/** The bytes to reserve for a body of this `content-length`; without one, for the largest that is taken. 0: nothing. */
export const bodyCost = (contentLength: string | undefined, maxBytes: number): number => {
  const length = contentLength === undefined ? maxBytes : Number(contentLength);
  if (!Number.isFinite(length)) return maxBytes * costPerByte;
  return length <= smallBodyBytes ? 0 : Math.min(length, maxBytes) * costPerByte;
};

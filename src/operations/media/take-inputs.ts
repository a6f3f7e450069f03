import { isDataUri } from '../../media/data-uri.ts';
import { maxInputBytes } from '../../media/fetch-input.ts';
import { checkInputUrl } from '../../media/stream-input.ts';
import type { AccountCall, Services } from '../call.ts';

/** A medium that a request names, by its address or as a data URI. */
export interface NamedMedium {
  url: string;
  /** Its field in the request, for error messages: `image`, `image.3`. */
  param: string;
}

export interface TakeAllOptions<Item, Taken> {
  /** Downloads and keeps one item. Ends with the signal. */
  take: (item: Item, signal: AbortSignal) => Promise<Taken>;
  /** The items that are taken at the same time. */
  atOnce: number;
  /** The deadline for all items together. */
  deadlineMs: number;
  /** Makes the refusal at the deadline. `missing` is the first item that is not there. */
  tooLate: (missing: Item) => Error;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
  /** Undoes `take` after a failure. */
  discard?: (taken: Taken[]) => Promise<void>;
}

/**
 * Takes all inputs of a request, and returns the results in their order. The first failure ends the others. All are
 * awaited, so that everything they kept can be discarded. Throws the first failure, or the signal's reason.
 */
export const takeAll = async <Item, Taken>(
  items: readonly Item[],
  { take, atOnce, deadlineMs, tooLate, signal, discard }: TakeAllOptions<Item, Taken>,
): Promise<Taken[]> => {
  const failed = new AbortController();
  const ended = AbortSignal.any([signal, failed.signal]);
  const taken = new Map<number, Taken>();
  const timer = setTimeout(() => {
    const missing = items.find((_item, index) => !taken.has(index));
    if (missing !== undefined) failed.abort(tooLate(missing));
  }, deadlineMs);
  const waiting = items.entries();
  const takeSome = async (): Promise<void> => {
    try {
      for (const [index, item] of waiting) taken.set(index, await take(item, ended));
    } catch (error) {
      failed.abort(error);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, takeSome));
  clearTimeout(timer);
  if (taken.size < items.length) {
    await discard?.([...taken.values()]);
    throw ended.reason;
  }
  return items.map((_item, index) => taken.get(index) as Taken);
};

/**
 * Refuses images and sounds that cannot be taken, as far as that is known without reaching outside: decodes data URIs,
 * and reads addresses. Throws AppError.
 */
export const checkInputs = async (
  inputs: readonly (NamedMedium & { kind: 'image' | 'audio' })[],
  { caller: { accountId }, signal }: AccountCall,
  { fetchInput, config }: Pick<Services, 'fetchInput' | 'config'>,
): Promise<void> => {
  for (const { url, param, kind } of inputs) {
    const options = { kind, maxBytes: maxInputBytes[kind], param, signal, accountId };
    if (isDataUri(url)) await fetchInput(url, options, () => Promise.resolve());
    else checkInputUrl(url, options, { allowsLoopback: config.allowsLoopbackUrls });
  }
};

import { LRUCache } from 'lru-cache';
import { wrongHeader } from '../kit/errors.ts';
import { periodNames } from '../rules/key-limits.ts';
import type { Store } from '../store/store.ts';

export const longestUsageTag = 64;

export const usageTagText = new RegExp(
  `^[\\x21-\\x7e](?:[\\x20-\\x7e]{0,${longestUsageTag - 2}}[\\x21-\\x7e])?$`,
);

export const usageTagRule = `must be 1 to ${longestUsageTag} characters of ASCII`;

/** The header by which a call names its purpose. */
export const usageTagHeader = 'x-usage-tag';

/** Reads that header; null for an empty one. Throws AppError `invalid_parameter`. */
export const readUsageTag = (sent: string): string | null => {
  if (sent === '' || usageTagText.test(sent)) return sent || null;
  throw wrongHeader('X-Usage-Tag', usageTagRule);
};

export type UsageTags = ReturnType<typeof createUsageTags>;

/** An account has at most 100 tags a month, so that its sums stay short. All others are counted as `other`. */
export const createUsageTags = ({ store }: { store: Pick<Store, 'claimUsageTag'> }) => {
  const known = new LRUCache<string, string>({ max: 10_000 });
  return {
    /** Returns the tag under which a job of now is counted. It asks the store once a month. */
    resolve: async (accountId: string, tag: string, now: number): Promise<string> => {
      const [, month] = periodNames(now);
      const name = JSON.stringify([accountId, month, tag]);
      const found = known.get(name);
      if (found !== undefined) return found;
      const counted = (await store.claimUsageTag({ accountId, month, tag })) ? tag : 'other';
      known.set(name, counted);
      return counted;
    },
  };
};

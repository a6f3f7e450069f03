import type { Caller } from '../../accounts/caller.ts';
import type { Services } from '../call.ts';
import { readLimits, type WrittenLimits } from './read-limits.ts';
import type { LimitChanges } from '../../rules/key-limits.ts';

/** Reads limits as a customer writes them. A key may name the SKUs of its account. */
export const readOwnLimits = (
  written: WrittenLimits,
  caller: Caller,
  { catalogs, clock, config }: Pick<Services, 'catalogs' | 'clock' | 'config'>,
): LimitChanges => {
  const models = catalogs.for(caller).list();
  return readLimits(written, {
    skus: models.map(({ sku }) => sku),
    allowsLoopback: config.allowsLoopbackUrls,
    now: clock.now(),
  });
};

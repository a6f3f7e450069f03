import type { Nano } from '../kit/money.ts';
import { insufficient, insufficientBalance } from './prepaid.ts';
import type { AccountCall, Services } from './call.ts';
import { shortBudget } from '../rules/key-limits.ts';

/**
 * Refuses early, before inputs are downloaded, a request that the balance or a budget of the key does not cover. The
 * store decides finally. Throws AppError `insufficient_balance`.
 */
export const assertAffordable = async (
  needed: Nano,
  { caller: { available, keyId, limits } }: AccountCall,
  { store, clock }: Services,
): Promise<void> => {
  if (available < needed) throw insufficientBalance({ needed, available });
  if (limits?.isBudgeted !== true) return;
  const now = clock.now();
  const short = shortBudget(await store.listCountedKeys({ keyId, time: now }), needed);
  if (short !== null) throw insufficient({ outcome: 'insufficient', ...short, needed, now });
};

import type { Clock } from '../clock.ts';
import { newId } from '../ids.ts';
import type { Account, Store } from '../store/store.ts';

/** Makes an account without money: `pending` until an operator approves it, or `active` at once. */
export const createAccount = (
  { store, clock }: { store: Pick<Store, 'createAccount'>; clock: Clock },
  { name, status }: { name: string; status: 'pending' | 'active' },
): Promise<Account> => store.createAccount({ id: newId(), name, status, now: clock.now() });

import type { Clock } from '../kit/clock.ts';
import { newId } from '../kit/ids.ts';
import type { Account, NewAccount, Store } from '../store/store.ts';

/** Creates an account without money, `active` or `pending` until an operator approves it. */
export const createAccount = (
  { store, clock }: { store: Pick<Store, 'createAccount'>; clock: Clock },
  account: Omit<NewAccount, 'id' | 'now'> & { status: 'pending' | 'active' },
): Promise<Account> => store.createAccount({ ...account, id: newId(), now: clock.now() });

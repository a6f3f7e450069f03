import type { Clock } from '../kit/clock.ts';
import type { Account, Store } from '../store/store.ts';

/** `changed` is false if the account already had that state. Null: there is no such account. */
export type AccountStatusChange = { account: Account; changed: boolean } | null;

type Services = { store: Pick<Store, 'getAccount' | 'setAccountStatus'>; clock: Clock };

const changeStatus = async (
  { store, clock }: Services,
  { accountId, status }: { accountId: string; status: 'active' | 'suspended' },
): Promise<AccountStatusChange> => {
  const before = await store.getAccount(accountId);
  if (before === null || before.status === status)
    return before === null ? null : { account: before, changed: false };
  const account = await store.setAccountStatus({ id: accountId, status, now: clock.now() });
  return account === null ? null : { account, changed: true };
};

/** Activates a pending or suspended account, so that its keys work. */
export const approveAccount = (services: Services, accountId: string): Promise<AccountStatusChange> =>
  changeStatus(services, { accountId, status: 'active' });

/** Suspends an account: calls with its keys get `invalid_api_key`. Running jobs are finished and charged. */
export const suspendAccount = (services: Services, accountId: string): Promise<AccountStatusChange> =>
  changeStatus(services, { accountId, status: 'suspended' });

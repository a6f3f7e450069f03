import type { Clock } from '../kit/clock.ts';
import type { Account, Store } from '../store/store.ts';

/** `changed` is false when the account was in that state already. Null: there is no such account. */
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

/** Lets an account's keys work: a pending one for the first time, a suspended one again. */
export const approveAccount = (services: Services, accountId: string): Promise<AccountStatusChange> =>
  changeStatus(services, { accountId, status: 'active' });

/** Makes all keys of an account answer `invalid_api_key` from now on. Its jobs that run are finished and charged. */
export const suspendAccount = (services: Services, accountId: string): Promise<AccountStatusChange> =>
  changeStatus(services, { accountId, status: 'suspended' });

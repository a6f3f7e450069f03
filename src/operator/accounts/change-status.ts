import { z } from 'zod';
import { accountIdField } from '../fields.ts';
import { operatorWrite } from '../operator-operation.ts';
import { requireFound } from '../require-found.ts';
import { accountSchema, exampleAccount, toAccountView } from './account-view.ts';

export type StatusChange = z.output<typeof output>;

const output = z.strictObject({
  account: accountSchema,
  changed: z.boolean().describe('False: it already had that status.'),
});

interface Parts {
  name: string;
  title: string;
  description: string;
  path: string;
  status: 'active' | 'suspended';
}

const changeStatus = ({ status, ...parts }: Parts) =>
  operatorWrite({
    ...parts,
    group: 'accounts',
    fields: { account_id: accountIdField },
    output,
    answer: 'StatusChange',
    example: {
      input: { account_id: exampleAccount.id },
      answer: { account: { ...exampleAccount, status }, changed: true },
    },
    errors: ['account_not_found'],
    handle: async ({ account_id: id }, { store, clock }) => {
      const before = requireFound(await store.getAccount(id), 'account', id);
      if (before.status === status) return { account: toAccountView(before), changed: false };
      const changed = await store.setAccountStatus({ id, status, now: clock.now() });
      return { account: toAccountView(requireFound(changed, 'account', id)), changed: true };
    },
  });

export const approveAccount = changeStatus({
  name: 'approve_account',
  title: 'Approve an account',
  description: 'Makes a pending or suspended account active, so that its keys work.',
  path: '/accounts/{account_id}/approve',
  status: 'active',
});

export const suspendAccount = changeStatus({
  name: 'suspend_account',
  title: 'Suspend an account',
  description:
    'Suspends an account: calls with any of its keys fail with 401 invalid_api_key from now on. Running jobs are ' +
    'finished and charged; balance and keys stay as they are.',
  path: '/accounts/{account_id}/suspend',
  status: 'suspended',
});

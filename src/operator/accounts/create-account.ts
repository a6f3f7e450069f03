import { z } from 'zod';
import { lineField } from '../fields.ts';
import { operatorWrite } from '../operator-operation.ts';
import { accountSchema, exampleAccount, toAccountView } from './account-view.ts';

export const createAccount = operatorWrite({
  name: 'create_account',
  title: 'Create an account',
  description:
    'Creates an account without money. It is pending, and keys can be issued once it is approved; with `approved` it is ' +
    'active at once.',
  group: 'accounts',
  path: '/accounts',
  fields: {
    name: lineField(200).describe('Your name for the customer.'),
    approved: z.boolean().default(false).describe('True: it is active at once.'),
    sandbox: z
      .boolean()
      .default(false)
      .describe('True: its money is sandbox credit, which buys sandbox models only.'),
  },
  output: z.strictObject({ account: accountSchema }),
  answer: 'CreatedAccount',
  example: {
    input: { name: 'Acme Ltd', approved: true },
    answer: { account: { ...exampleAccount, balance_usd: '0.00', held_usd: '0.00', ledger_usd: '0.00' } },
  },
  handle: async ({ name, approved, sandbox }, { store, clock }, callId) => {
    const status = approved ? 'active' : 'pending';
    const created = { id: callId, name, status, isSandbox: sandbox, now: clock.now() } as const;
    return { account: toAccountView(await store.createAccount(created)) };
  },
});

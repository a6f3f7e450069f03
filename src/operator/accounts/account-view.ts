import { z } from 'zod';
import { toIso } from '../../kit/clock.ts';
import { formatUsd } from '../../kit/money.ts';
import { time, usd } from '../../operations/answer-fields.ts';
import type { Account } from '../../store/store.ts';

export const accountSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  status: z.enum(['pending', 'active', 'suspended']),
  sandbox: z.boolean().describe('True: its money is sandbox credit, which buys sandbox models only.'),
  wallet: z
    .string()
    .nullable()
    .describe('The wallet that owns it, such as `eip155:0x…` or `solana:…`; null: an account that you made.'),
  balance_usd: usd.describe('What the account can spend: its ledger less the holds of open jobs.'),
  held_usd: usd,
  ledger_usd: usd,
  created_at: time,
});

type AccountView = z.output<typeof accountSchema>;

export const toAccountView = (account: Account): AccountView => ({
  id: account.id,
  name: account.name,
  status: account.status,
  sandbox: account.isSandbox,
  wallet: account.wallet,
  balance_usd: formatUsd(account.balance - account.held),
  held_usd: formatUsd(account.held),
  ledger_usd: formatUsd(account.balance),
  created_at: toIso(account.createdAt),
});

/** For examples. */
export const exampleAccount: AccountView = {
  id: '0b9f3c1e-5d0a-4c59-9a61-2f6f0f5f7d11',
  name: 'Acme Ltd',
  status: 'active',
  sandbox: false,
  wallet: null,
  balance_usd: '24.96',
  held_usd: '0.04',
  ledger_usd: '25.00',
  created_at: '2026-11-01T08:00:00.000Z',
};

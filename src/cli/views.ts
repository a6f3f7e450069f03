import { toIso } from '../kit/clock.ts';
import type { JsonObject } from '../kit/json.ts';
import { formatUsd } from '../kit/money.ts';
import type { Account, ApiKey, LedgerEntry } from '../store/store.ts';
import { formatTable } from './format-table.ts';

/** As the API does, `balance_usd` names the available amount: the sum of the ledger less what open jobs hold. */
export const accountJson = (account: Account): JsonObject => ({
  id: account.id,
  name: account.name,
  status: account.status,
  sandbox: account.isSandbox,
  balance_usd: formatUsd(account.balance - account.held),
  held_usd: formatUsd(account.held),
  ledger_usd: formatUsd(account.balance),
  created_at: toIso(account.createdAt),
});

export const apiKeyJson = (key: ApiKey): JsonObject => ({
  id: key.id,
  account_id: key.accountId,
  display: key.display,
  label: key.label,
  created_at: toIso(key.createdAt),
  revoked_at: key.revokedAt === null ? null : toIso(key.revokedAt),
});

export const entryJson = (entry: LedgerEntry): JsonObject => ({
  id: entry.id,
  account_id: entry.accountId,
  type: entry.type,
  amount_usd: formatUsd(entry.amount),
  job_id: entry.jobId,
  reason: entry.note,
  created_at: toIso(entry.createdAt),
});

export const accountTable = (accounts: readonly Account[]): string =>
  formatTable(
    [
      { title: 'ACCOUNT' },
      { title: 'STATUS' },
      { title: 'SANDBOX' },
      { title: 'BALANCE USD', align: 'right' },
      { title: 'HELD USD', align: 'right' },
      { title: 'CREATED' },
      { title: 'NAME' },
    ],
    accounts.map((account) => [
      account.id,
      account.status,
      account.isSandbox ? 'yes' : 'no',
      formatUsd(account.balance - account.held),
      formatUsd(account.held),
      toIso(account.createdAt),
      account.name,
    ]),
  );

export const apiKeyTable = (keys: readonly ApiKey[]): string =>
  formatTable(
    [{ title: 'KEY ID' }, { title: 'KEY' }, { title: 'CREATED' }, { title: 'REVOKED' }, { title: 'LABEL' }],
    keys.map((key) => [
      key.id,
      key.display,
      toIso(key.createdAt),
      key.revokedAt === null ? '-' : toIso(key.revokedAt),
      key.label,
    ]),
  );

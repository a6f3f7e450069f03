import { columns, flag, int64, named, orNull, text, time, type RowOf } from '../columns.ts';
import { callerKeys } from './key-table.ts';

export type AccountStatus = 'pending' | 'active' | 'suspended';

const accountFields = {
  id: text(),
  name: text(),
  status: text<AccountStatus>(),
  /** Sum of the account's ledger entries. */
  balance: int64(),
  /** Sum of its open holds. Available is `balance - held`. */
  held: int64(),
  /** JSON text of the account's own SKUs, rates and limits; null for the operator's defaults. */
  terms: orNull(text()),
  /** True if its money is sandbox credit, which buys sandbox SKUs only. */
  isSandbox: named('sandbox', flag()),
  /** The wallet that owns it, as `walletOf` names it; null for an account that an operator made. */
  wallet: orNull(text()),
  createdAt: time(),
};
export type Account = RowOf<typeof accountFields>;
export const accounts = columns(accountFields);

/** The account of a key; the row has the key's own id and creation. */
const accountsOfKeys = columns({
  ...accountFields,
  id: named('account_id', text()),
  name: named('account_name', text()),
  status: named('account_status', text<AccountStatus>()),
  createdAt: named('account_created_at', time()),
  /** The current one; null if the account has none yet. */
  webhookSecret: orNull(text()),
});

/** The columns of a key `k` and its account `a`. */
export const callerColumns = `${callerKeys.list('k.')}, a.name as account_name, a.status as account_status, a.balance, a.held,
  a.terms, a.sandbox, a.wallet, a.created_at as account_created_at, a.webhook_secret`;

export const toFoundKey = (row: Record<string, never>) => ({
  key: callerKeys.read(row),
  account: accountsOfKeys.read(row),
});

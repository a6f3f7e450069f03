import type { Engine } from './engine.ts';

/**
 * `wallet`: the wallet that owns an account, once for real money and once for sandbox credit; `wallet_key`: the key of
 * its paid calls. `account_id`, `credit`: the account whose balance a payment raises, and by how much; `credit_entry`:
 * the entry that did, as long as the payment counts as made.
 */
export const walletAccounts = ({ int64, id }: Engine): string[] => [
  `alter table accounts add column wallet ${id}`,
  `alter table accounts add column wallet_key ${id}`,
  `create unique index accounts_of_wallets on accounts (wallet, sandbox) where wallet is not null`,
  `alter table payments add column account_id ${id} references accounts (id)`,
  `alter table payments add column credit ${int64} check (credit > 0)`,
  `alter table payments add column credit_entry ${id}`,
  `create index payments_by_account on payments (account_id, created_at desc, identity desc)
    where account_id is not null`,
];

import { columns, flag, int64, named, orNull, text, type RowOf } from '../columns.ts';
import {
  inTransaction,
  read,
  run,
  sweepExpired,
  unlessRaced,
  write,
  writeSteps,
  type Steps,
} from '../command.ts';
import { firstOf, hasRows, onlyOf, statement, valuesOf } from '../statement.ts';
import { insertKey } from './key-table.ts';
import { isOwed } from './pledges.ts';
import type { AccountStatus } from './account-table.ts';

const walletFields = {
  id: text(),
  status: text<AccountStatus>(),
  terms: orNull(text()),
  isSandbox: named('sandbox', flag()),
  available: int64(),
  /** The key for calls that the wallet pays one by one. Nobody knows its secret. */
  keyId: named('wallet_key', text()),
};
export type WalletAccount = RowOf<typeof walletFields>;
const toWalletAccount = columns(walletFields).read;

const walletAccountColumns = 'id, status, terms, sandbox, balance - held as available, wallet_key';

export const findWalletAccount = read({
  text: `select ${walletAccountColumns} from accounts where wallet = $1 and sandbox = $2`,
  values: valuesOf<{ wallet: string; isSandbox: boolean }>('wallet', 'isSandbox'),
  read: firstOf(toWalletAccount),
});

export const getWalletAccount = read({
  text: `select ${walletAccountColumns} from accounts where id = $1 and wallet is not null`,
  values: (id: string) => [id],
  read: firstOf(toWalletAccount),
});

export interface NewWalletAccount {
  id: string;
  wallet: string;
  isSandbox: boolean;
  key: { id: string; hash: string; display: string };
  now: number;
}

const insertAccount = statement({
  text: `insert into accounts (id, name, status, status_changed_at, created_at, sandbox, wallet, wallet_key)
    values ($1, $2, 'active', $3, $3, $4, $2, $5)`,
  values: ({ id, wallet, isSandbox, key, now }: NewWalletAccount) => [
    id,
    wallet,
    now,
    isSandbox ? 1 : 0,
    key.id,
  ],
});

function* insertWallet(input: NewWalletAccount): Steps<true> {
  yield* run(insertAccount, input);
  const { key, id: accountId, now } = input;
  yield* run(insertKey, { ...key, accountId, label: 'calls paid one by one', madeBy: 'operator', now });
  return true;
}

export const openWalletAccount = writeSteps(function* (input: NewWalletAccount): Steps<WalletAccount> {
  const known = yield* run(findWalletAccount, input);
  if (known !== null) return known;
  yield* unlessRaced(inTransaction(insertWallet(input)));
  const made = yield* run(findWalletAccount, input);
  if (made === null) throw new Error('the account of a wallet was neither inserted nor found');
  return made;
});

/** Tells whether an account owes for a job: the payment that was pledged for it has ended and did not pay for it. */
export const owesForJobs = read({
  text: `select exists (select 1 from holds where account_id = $1 and ${isOwed}) as owes`,
  values: (accountId: string) => [accountId],
  read: onlyOf(({ owes }: { owes: bigint | boolean }) => Boolean(owes)),
});

/** Marks the nonce of a sign-in as used, for all processes, until `expiresAt`. False if it was used before. */
export const spendNonce = write({
  text: `insert into spent_nonces (nonce, expires_at) values ($1, $2)
    on conflict (nonce) do nothing returning 1 as spent`,
  values: valuesOf<{ nonce: string; expiresAt: number }>('nonce', 'expiresAt'),
  read: hasRows,
});

export const sweepSpentNonces = sweepExpired('spent_nonces', 'nonce');

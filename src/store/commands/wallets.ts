import { inTransaction, read, run, unlessRaced, writeSteps, type Steps } from '../command.ts';
import { firstOf, nothing, onlyOf, statement, valuesOf } from '../statement.ts';
import { isOwed } from './pledges.ts';
import type { AccountStatus } from './accounts.ts';

/** The account of a wallet, as a buyer. */
export interface WalletAccount {
  id: string;
  status: AccountStatus;
  terms: string | null;
  isSandbox: boolean;
  available: bigint;
  /** The key for calls that the wallet pays one by one. Nobody knows its secret. */
  keyId: string;
}

interface WalletAccountRow {
  id: string;
  status: AccountStatus;
  terms: string | null;
  sandbox: bigint;
  available: bigint;
  wallet_key: string;
}

const toWalletAccount = ({ sandbox, wallet_key: keyId, ...row }: WalletAccountRow): WalletAccount => ({
  ...row,
  isSandbox: sandbox !== 0n,
  keyId,
});

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
  /** The id, the hash and the display form of its key. */
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
  read: nothing,
});

const insertKey = statement({
  text: `insert into api_keys (id, account_id, hash, display, label, created_at, made_by)
    values ($1, $2, $3, $4, 'calls paid one by one', $5, 'operator')`,
  values: ({ id, key, now }: NewWalletAccount) => [key.id, id, key.hash, key.display, now],
  read: nothing,
});

function* insertWallet(input: NewWalletAccount): Steps<true> {
  yield* run(insertAccount, input);
  yield* run(insertKey, input);
  return true;
}

/** Returns the account of a wallet, and makes it if there is none. */
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

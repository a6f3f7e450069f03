import {
  getBase58Decoder,
  getBase64Decoder,
  getCompiledTransactionMessageDecoder,
  getTransactionEncoder,
  unwrapOption,
  type Address,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { invalidParams, RpcError } from './json-rpc.ts';
import { readMint, readTokenAccount, tokenProgram, type SolanaAccount } from './solana-accounts.ts';
import type { LandedTransaction, SolanaLedger } from './solana-ledger.ts';

/** The ways in which an RPC node writes bytes down. */
export type BinaryEncoding = 'base58' | 'base64';
export type AccountEncoding = BinaryEncoding | 'jsonParsed';
export type TransactionEncoding = BinaryEncoding | 'json';

const encodeBytes = (bytes: ReadonlyUint8Array, encoding: BinaryEncoding): [string, BinaryEncoding] => [
  (encoding === 'base58' ? getBase58Decoder() : getBase64Decoder()).decode(bytes),
  encoding,
];

const mintDecimals = (ledger: SolanaLedger, at: Address): number => {
  const mint = readMint(ledger.getAccount(at));
  if (mint === null) throw new RpcError(invalidParams, 'Invalid param: not a Token mint');
  return mint.decimals;
};

/** A token account's amount as every method shows it. */
export const viewTokenAmount = (ledger: SolanaLedger, token: { mint: Address; amount: bigint }): object => {
  const decimals = mintDecimals(ledger, token.mint);
  const digits = String(token.amount).padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  const fraction = digits.slice(point).replace(/0+$/, '');
  const uiAmountString = digits.slice(0, point) + (fraction === '' ? '' : `.${fraction}`);
  return { amount: String(token.amount), decimals, uiAmount: Number(uiAmountString), uiAmountString };
};

const viewParsedToken = (
  ledger: SolanaLedger,
  token: NonNullable<ReturnType<typeof readTokenAccount>>,
): object => ({
  type: 'account',
  info: {
    mint: token.mint,
    owner: token.owner,
    state: 'initialized',
    isNative: unwrapOption(token.rentExemptReserve) !== null,
    tokenAmount: viewTokenAmount(ledger, token),
  },
});

const viewParsedMint = (mint: NonNullable<ReturnType<typeof readMint>>): object => ({
  type: 'mint',
  info: {
    decimals: mint.decimals,
    freezeAuthority: unwrapOption(mint.freezeAuthority),
    isInitialized: mint.isInitialized === 1,
    mintAuthority: unwrapOption(mint.mintAuthority),
    supply: String(mint.supply),
  },
});

const viewParsed = (ledger: SolanaLedger, account: SolanaAccount): object | null => {
  const token = readTokenAccount(account);
  const mint = readMint(account);
  const program = { program: 'spl-token', space: account.data.length };
  if (token !== null) return { ...program, parsed: viewParsedToken(ledger, token) };
  return mint === null ? null : { ...program, parsed: viewParsedMint(mint) };
};

/** An account as getAccountInfo shows it; null where there is none. What has no parser comes as base64. */
export const viewAccount = (
  ledger: SolanaLedger,
  account: SolanaAccount | null,
  encoding: AccountEncoding,
): object | null => {
  if (account === null) return null;
  const parsed = encoding === 'jsonParsed' ? viewParsed(ledger, account) : null;
  return {
    data: parsed ?? encodeBytes(account.data, encoding === 'jsonParsed' ? 'base64' : encoding),
    executable: account.executable,
    lamports: Number(account.lamports),
    owner: account.programAddress,
    rentEpoch: 0,
    space: account.data.length,
  };
};

const viewTokenBalances = (ledger: SolanaLedger, accounts: LandedTransaction['before']): object[] =>
  accounts.flatMap((account, accountIndex) => {
    const token = readTokenAccount(account);
    if (token === null) return [];
    const uiTokenAmount = viewTokenAmount(ledger, token);
    return [{ accountIndex, mint: token.mint, owner: token.owner, programId: tokenProgram, uiTokenAmount }];
  });

const viewLamports = (accounts: LandedTransaction['before']): number[] =>
  accounts.map((account) => Number(account?.lamports ?? 0n));

const viewJsonTransaction = ({ transaction }: LandedTransaction): object => {
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
  if (message.version === 1) throw new RpcError(invalidParams, 'Version 1 has no JSON view here');
  const base58 = getBase58Decoder();
  return {
    signatures: Object.values(transaction.signatures).map((bytes) =>
      base58.decode(bytes ?? new Uint8Array(64)),
    ),
    message: {
      accountKeys: message.staticAccounts,
      header: {
        numRequiredSignatures: message.header.numSignerAccounts,
        numReadonlySignedAccounts: message.header.numReadonlySignerAccounts,
        numReadonlyUnsignedAccounts: message.header.numReadonlyNonSignerAccounts,
      },
      recentBlockhash: 'lifetimeToken' in message ? message.lifetimeToken : null,
      instructions: message.instructions.map((instruction) => ({
        programIdIndex: instruction.programAddressIndex,
        accounts: instruction.accountIndices ?? [],
        data: base58.decode(instruction.data ?? new Uint8Array()),
        stackHeight: 1,
      })),
      ...(message.version === 'legacy' ? {} : { addressTableLookups: [] }),
    },
  };
};

/** The error in the two forms in which answers carry it. */
export const viewOutcome = (err: unknown): { err: unknown; status: object } => ({
  err,
  status: err === null ? { Ok: null } : { Err: err },
});

const sum = (amounts: number[]): number => amounts.reduce((total, amount) => total + amount, 0);

/** A transaction as getTransaction shows it. */
export const viewTransaction = (
  ledger: SolanaLedger,
  landed: LandedTransaction,
  encoding: TransactionEncoding,
): object => ({
  slot: landed.slot,
  blockTime: ledger.slots.blockTime(landed.slot),
  version: getCompiledTransactionMessageDecoder().decode(landed.transaction.messageBytes).version,
  transaction:
    encoding === 'json'
      ? viewJsonTransaction(landed)
      : encodeBytes(getTransactionEncoder().encode(landed.transaction), encoding),
  meta: {
    ...viewOutcome(landed.execution.err),
    // Only the fee leaves the accounts of a transaction.
    fee: sum(viewLamports(landed.before)) - sum(viewLamports(landed.after)),
    computeUnitsConsumed: landed.execution.unitsConsumed,
    innerInstructions: landed.execution.innerInstructions,
    loadedAddresses: { writable: [], readonly: [] },
    logMessages: landed.execution.logs,
    preBalances: viewLamports(landed.before),
    postBalances: viewLamports(landed.after),
    preTokenBalances: viewTokenBalances(ledger, landed.before),
    postTokenBalances: viewTokenBalances(ledger, landed.after),
    rewards: [],
  },
});

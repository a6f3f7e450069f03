import {
  AccountRole,
  address,
  appendTransactionMessageInstructions,
  createTransactionMessage,
  getTupleEncoder,
  getU32Encoder,
  getU64Encoder,
  getU8Encoder,
  getUtf8Encoder,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  type Blockhash,
  type Instruction,
  type KeyPairSigner,
} from '@solana/kit';
import type { RefundTransfer } from '../core/refund-transfer.ts';
import { associatedTokenProgram, findTokenAccount, tokenProgram } from './solana-token-account.ts';

const systemProgram = address('11111111111111111111111111111111');
const computeBudgetProgram = address('ComputeBudget111111111111111111111111111111');
const memoProgram = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');

/** Creation of a token account, transfer and memo took up to 60,000 units. */
const computeUnits = 150_000;
const microLamportsPerUnit = 50_000n;

/** The cost of the whole transaction, without the rent of a new account: one signature and the priority. */
export const transactionLamports = 5_000n + (BigInt(computeUnits) * microLamportsPerUnit) / 1_000_000n;

/** Each instruction begins with the byte that names it in its program. */
const u8 = getU8Encoder();
const u64 = getU64Encoder();
const { READONLY, READONLY_SIGNER, WRITABLE, WRITABLE_SIGNER } = AccountRole;

const limitComputeUnits: Instruction = {
  programAddress: computeBudgetProgram,
  data: getTupleEncoder([u8, getU32Encoder()]).encode([2, computeUnits]),
};
const setComputeUnitPrice: Instruction = {
  programAddress: computeBudgetProgram,
  data: getTupleEncoder([u8, u64]).encode([3, microLamportsPerUnit]),
};

interface Accounts {
  source: string;
  destination: string;
}

/** Returns the token accounts at both ends of a refund. */
export const findTransferAccounts = async (
  { asset: mint, recipient }: RefundTransfer,
  sender: string,
): Promise<Accounts> => ({
  source: await findTokenAccount({ owner: sender, mint }),
  destination: await findTokenAccount({ owner: recipient, mint }),
});

/** Does nothing where the account exists. */
const createTokenAccount = (
  { asset, recipient }: RefundTransfer,
  destination: string,
  signer: KeyPairSigner,
): Instruction => ({
  programAddress: associatedTokenProgram,
  accounts: [
    { address: signer.address, role: WRITABLE_SIGNER },
    { address: address(destination), role: WRITABLE },
    { address: address(recipient), role: READONLY },
    { address: address(asset), role: READONLY },
    { address: systemProgram, role: READONLY },
    { address: tokenProgram, role: READONLY },
  ],
  data: u8.encode(1),
});

const transferChecked = (
  { asset, amount }: RefundTransfer,
  { source, destination }: Accounts,
  { signer, decimals }: { signer: KeyPairSigner; decimals: number },
): Instruction => ({
  programAddress: tokenProgram,
  accounts: [
    { address: address(source), role: WRITABLE },
    { address: address(asset), role: READONLY },
    { address: address(destination), role: WRITABLE },
    { address: signer.address, role: READONLY_SIGNER },
  ],
  data: getTupleEncoder([u8, u64, u8]).encode([12, amount, decimals]),
});

/** Without it, two refunds of one amount to one payer under one blockhash would be one transaction. */
const memo = ({ id }: RefundTransfer): Instruction => ({
  programAddress: memoProgram,
  data: getUtf8Encoder().encode(`refund ${id}`),
});

/** Builds the transaction of a refund. It creates the recipient's token account where there is none. */
export const buildTransferMessage = async (
  transfer: RefundTransfer,
  of: {
    signer: KeyPairSigner;
    decimals: number;
    lifetime: { blockhash: Blockhash; lastValidBlockHeight: bigint };
  },
) => {
  const { signer, lifetime } = of;
  const accounts = await findTransferAccounts(transfer, signer.address);
  const instructions = [
    limitComputeUnits,
    setComputeUnitPrice,
    createTokenAccount(transfer, accounts.destination, signer),
    transferChecked(transfer, accounts, of),
    memo(transfer),
  ];
  return pipe(
    createTransactionMessage({ version: 0 }),
    (message) => setTransactionMessageFeePayerSigner(signer, message),
    (message) => setTransactionMessageLifetimeUsingBlockhash(lifetime, message),
    (message) => appendTransactionMessageInstructions(instructions, message),
  );
};

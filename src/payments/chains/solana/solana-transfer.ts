import { randomBytes } from 'node:crypto';
import {
  AccountRole,
  address,
  appendTransactionMessageInstructions,
  blockhash as toBlockhash,
  compileTransaction,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getTupleEncoder,
  getU32Encoder,
  getU64Encoder,
  getU8Encoder,
  getUtf8Encoder,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  type Instruction,
} from '@solana/kit';
import type { NodeAccess, UnsignedTransfer } from '../core/network-family.ts';
import { createSolanaChain } from './solana-chain.ts';
import { findTokenAccount, tokenProgram } from './solana-transaction.ts';

const computeBudgetProgram = address('ComputeBudget111111111111111111111111111111');
const memoProgram = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');

/** Each instruction begins with the byte that names it in its program. */
const u8 = getU8Encoder();
const u64 = getU64Encoder();
const { READONLY, READONLY_SIGNER, WRITABLE } = AccountRole;

export const limitComputeUnits = (units: number): Instruction => ({
  programAddress: computeBudgetProgram,
  data: getTupleEncoder([u8, getU32Encoder()]).encode([2, units]),
});

export const setComputeUnitPrice = (microLamports: bigint): Instruction => ({
  programAddress: computeBudgetProgram,
  data: getTupleEncoder([u8, u64]).encode([3, microLamports]),
});

/** Without it, two transfers of one amount to one account under one blockhash would be one transaction. */
export const memo = (text: string): Instruction => ({
  programAddress: memoProgram,
  data: getUtf8Encoder().encode(text),
});

/** `authority` owns the account at `source`, and signs. `amount`: in the smallest unit. */
export const transferChecked = (of: {
  source: string;
  mint: string;
  destination: string;
  authority: string;
  amount: bigint;
  decimals: number;
}): Instruction => ({
  programAddress: tokenProgram,
  accounts: [
    { address: address(of.source), role: WRITABLE },
    { address: address(of.mint), role: READONLY },
    { address: address(of.destination), role: WRITABLE },
    { address: address(of.authority), role: READONLY_SIGNER },
  ],
  data: getTupleEncoder([u8, u64, u8]).encode([12, of.amount, of.decimals]),
});

/** As the official client of x402 bids, which facilitators know. */
const computeUnits = 20_000;
const microLamportsPerUnit = 1n;

/** Makes the transaction of `NetworkFamily.prepareTransfer`, with the instructions of the official client of x402. */
export const makeUnsignedTransfer = async (
  { wallet, requirements, decimals }: UnsignedTransfer,
  { rpc, signal }: NodeAccess,
): Promise<string> => {
  const { asset: mint, payTo, amount, extra } = requirements;
  const [source, destination] = await Promise.all([
    findTokenAccount({ owner: wallet, mint }),
    findTokenAccount({ owner: payTo, mint }),
  ]);
  const { blockhash, ...life } = await createSolanaChain(rpc, signal).getLatestBlockhash();
  const instructions = [
    limitComputeUnits(computeUnits),
    setComputeUnitPrice(microLamportsPerUnit),
    transferChecked({ source, mint, destination, authority: wallet, amount: BigInt(amount), decimals }),
    memo(randomBytes(16).toString('hex')),
  ];
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayer(address(String(extra?.['feePayer'])), empty),
    (paid) =>
      setTransactionMessageLifetimeUsingBlockhash({ ...life, blockhash: toBlockhash(blockhash) }, paid),
    (living) => appendTransactionMessageInstructions(instructions, living),
  );
  return getBase64EncodedWireTransaction(compileTransaction(message));
};

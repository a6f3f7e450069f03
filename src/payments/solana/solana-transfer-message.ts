import {
  AccountRole,
  address,
  appendTransactionMessageInstructions,
  createTransactionMessage,
  getStructEncoder,
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
import { associatedTokenProgram, findTokenAccount, tokenProgram } from './solana-token-account.ts';
import type { RefundTransfer } from '../refunds/refund-transfer.ts';

const systemProgram = address('11111111111111111111111111111111');
const computeBudgetProgram = address('ComputeBudget111111111111111111111111111111');
const memoProgram = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');

/** Creation of a token account, transfer and memo took up to 60,000 units. */
const computeUnits = 150_000;
const microLamportsPerUnit = 50_000n;

/** The cost of the whole transaction, without the rent of a new account: one signature and the priority. */
export const transactionLamports = 5_000n + (BigInt(computeUnits) * microLamportsPerUnit) / 1_000_000n;

const u8 = getU8Encoder();

const limitComputeUnits = (): Instruction => ({
  programAddress: computeBudgetProgram,
  data: getStructEncoder([
    ['instruction', u8],
    ['units', getU32Encoder()],
  ]).encode({ instruction: 2, units: computeUnits }),
});

const setComputeUnitPrice = (): Instruction => ({
  programAddress: computeBudgetProgram,
  data: getStructEncoder([
    ['instruction', u8],
    ['microLamports', getU64Encoder()],
  ]).encode({ instruction: 3, microLamports: microLamportsPerUnit }),
});

interface Accounts {
  source: string;
  destination: string;
}

/** Does nothing where the account exists. */
const createTokenAccount = (
  { asset, recipient }: RefundTransfer,
  { signer, destination }: { signer: KeyPairSigner; destination: string },
): Instruction => ({
  programAddress: associatedTokenProgram,
  accounts: [
    { address: signer.address, role: AccountRole.WRITABLE_SIGNER },
    { address: address(destination), role: AccountRole.WRITABLE },
    { address: address(recipient), role: AccountRole.READONLY },
    { address: address(asset), role: AccountRole.READONLY },
    { address: systemProgram, role: AccountRole.READONLY },
    { address: tokenProgram, role: AccountRole.READONLY },
  ],
  data: u8.encode(1),
});

const transferChecked = (
  { asset, amount }: RefundTransfer,
  { signer, source, destination, decimals }: Accounts & { signer: KeyPairSigner; decimals: number },
): Instruction => ({
  programAddress: tokenProgram,
  accounts: [
    { address: address(source), role: AccountRole.WRITABLE },
    { address: address(asset), role: AccountRole.READONLY },
    { address: address(destination), role: AccountRole.WRITABLE },
    { address: signer.address, role: AccountRole.READONLY_SIGNER },
  ],
  data: getStructEncoder([
    ['instruction', u8],
    ['amount', getU64Encoder()],
    ['decimals', u8],
  ]).encode({ instruction: 12, amount, decimals }),
});

/** Without it, two refunds of one amount to one payer under one blockhash would be one transaction. */
const memo = ({ id }: RefundTransfer): Instruction => ({
  programAddress: memoProgram,
  data: getUtf8Encoder().encode(`refund ${id}`),
});

/** Returns the token accounts at both ends of a refund. */
export const findTransferAccounts = async (
  { asset, recipient }: RefundTransfer,
  sender: string,
): Promise<Accounts> => {
  const [source, destination] = await Promise.all(
    [sender, recipient].map((owner) => findTokenAccount({ owner, mint: asset })),
  );
  if (source === undefined || destination === undefined) throw new Error('every owner has a token account');
  return { source, destination };
};

/** Builds the transaction of a refund. It creates the recipient's token account where there is none. */
export const buildTransferMessage = async (
  transfer: RefundTransfer,
  {
    signer,
    decimals,
    lifetime,
  }: {
    signer: KeyPairSigner;
    decimals: number;
    lifetime: { blockhash: Blockhash; lastValidBlockHeight: bigint };
  },
) => {
  const accounts = await findTransferAccounts(transfer, signer.address);
  return pipe(
    createTransactionMessage({ version: 0 }),
    (message) => setTransactionMessageFeePayerSigner(signer, message),
    (message) => setTransactionMessageLifetimeUsingBlockhash(lifetime, message),
    (message) =>
      appendTransactionMessageInstructions(
        [
          limitComputeUnits(),
          setComputeUnitPrice(),
          createTokenAccount(transfer, { signer, ...accounts }),
          transferChecked(transfer, { signer, decimals, ...accounts }),
          memo(transfer),
        ],
        message,
      ),
  );
};

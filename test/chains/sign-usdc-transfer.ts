import {
  AccountRole,
  address,
  appendTransactionMessageInstruction,
  createKeyPairSignerFromBytes,
  createTransactionMessage,
  getBase58Encoder,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  getStructEncoder,
  getU64Encoder,
  getU8Encoder,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  type Base64EncodedWireTransaction,
  type Blockhash,
  type Signature,
} from '@solana/kit';
import { associatedTokenAddress, tokenProgram } from './solana-accounts.ts';
import type { SolanaChain } from './solana-chain.ts';

/** The token program's number for this instruction. */
const transferChecked = 12;

const signerFor = (key: { secretKeyBase58: string }) =>
  createKeyPairSignerFromBytes(getBase58Encoder().encode(key.secretKeyBase58));

/** A payment of USDC from the buyer to the seller, signed by the buyer and, for the fee, by the facilitator. */
export const signUsdcTransfer = async (
  chain: SolanaChain,
  options: { amount: bigint; lifetime: { blockhash: Blockhash; lastValidBlockHeight: bigint } },
): Promise<{ wire: Base64EncodedWireTransaction; signature: Signature }> => {
  const [buyer, facilitator] = await Promise.all([signerFor(chain.buyer), signerFor(chain.facilitator)]);
  const source = await associatedTokenAddress({ owner: buyer.address, mint: chain.usdc });
  const data = getStructEncoder([
    ['instruction', getU8Encoder()],
    ['amount', getU64Encoder()],
    ['decimals', getU8Encoder()],
  ]).encode({ instruction: transferChecked, amount: options.amount, decimals: 6 });
  const transfer = {
    programAddress: tokenProgram,
    accounts: [
      { address: source, role: AccountRole.WRITABLE },
      { address: chain.usdc, role: AccountRole.READONLY },
      { address: address(chain.seller.tokenAccount), role: AccountRole.WRITABLE },
      { address: buyer.address, role: AccountRole.READONLY_SIGNER, signer: buyer },
    ],
    data,
  };
  const signed = await pipe(
    createTransactionMessage({ version: 0 }),
    (message) => setTransactionMessageFeePayerSigner(facilitator, message),
    (message) => setTransactionMessageLifetimeUsingBlockhash(options.lifetime, message),
    (message) => appendTransactionMessageInstruction(transfer, message),
    signTransactionMessageWithSigners,
  );
  return { wire: getBase64EncodedWireTransaction(signed), signature: getSignatureFromTransaction(signed) };
};

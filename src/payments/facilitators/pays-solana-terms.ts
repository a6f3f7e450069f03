import {
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  getU64Decoder,
} from '@solana/kit';
import type { PaymentRequirements } from '../wire.ts';
import { findTokenAccount } from './solana-token-account.ts';

const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const transferChecked = 12;
const amountBytes = 8;

/**
 * Whether a base64 transaction moves the price, in the terms' token, to the seller's token account, by an instruction
 * of its own. Once it has landed without an error, it did. Throws for what is no transaction.
 */
export const paysSolanaTerms = async (
  transaction: string,
  { asset, amount, payTo }: PaymentRequirements,
): Promise<boolean> => {
  const { messageBytes } = getTransactionDecoder().decode(getBase64Encoder().encode(transaction));
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes);
  if (!('instructions' in message)) return false;
  const { staticAccounts, instructions } = message;
  const destination = await findTokenAccount({ owner: payTo, mint: asset });
  return instructions.some(({ programAddressIndex, accountIndices, data }) => {
    const [, mintIndex, destinationIndex] = accountIndices ?? [];
    if (staticAccounts[programAddressIndex] !== tokenProgram || data?.[0] !== transferChecked) return false;
    if (data.length <= amountBytes || mintIndex === undefined || destinationIndex === undefined) return false;
    return (
      staticAccounts[mintIndex] === asset &&
      staticAccounts[destinationIndex] === destination &&
      getU64Decoder().decode(data, 1) >= BigInt(amount)
    );
  });
};

import {
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  getU64Decoder,
} from '@solana/kit';
import type { PayingAccounts } from '../core/paying-accounts.ts';
import type { PaymentRequirements } from '../core/wire.ts';
import { findTokenAccount } from './solana-token-account.ts';

const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const transferChecked = 12;
const amountBytes = 8;

/**
 * Finds the instruction of a base64 transaction that moves the price, in the terms' token, to the seller's token account,
 * and returns the accounts that it charges; null when it has none of its own. Once the transaction has landed without an error, that happened. Throws for what is no
 * transaction.
 */
export const findSolanaTransfer = async (
  transaction: string,
  { asset, amount, payTo }: PaymentRequirements,
): Promise<PayingAccounts | null> => {
  const { messageBytes } = getTransactionDecoder().decode(getBase64Encoder().encode(transaction));
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes);
  if (!('instructions' in message)) return null;
  const { staticAccounts, instructions } = message;
  const destination = await findTokenAccount({ owner: payTo, mint: asset });
  for (const { programAddressIndex, accountIndices, data } of instructions) {
    const [sourceIndex, mintIndex, destinationIndex, ownerIndex] = accountIndices ?? [];
    const isTransfer = staticAccounts[programAddressIndex] === tokenProgram && data?.[0] === transferChecked;
    if (!isTransfer || data.length <= amountBytes) continue;
    if (mintIndex === undefined || staticAccounts[mintIndex] !== asset) continue;
    if (destinationIndex === undefined || staticAccounts[destinationIndex] !== destination) continue;
    if (getU64Decoder().decode(data, 1) < BigInt(amount)) continue;
    const owner = ownerIndex === undefined ? undefined : staticAccounts[ownerIndex];
    const source = sourceIndex === undefined ? undefined : staticAccounts[sourceIndex];
    // An account of a lookup table is not in the message, and what it holds cannot be counted.
    if (source === undefined) continue;
    const isOwn = owner !== undefined && source === (await findTokenAccount({ owner, mint: asset }));
    return { payer: isOwn ? owner : null, source };
  }
  return null;
};

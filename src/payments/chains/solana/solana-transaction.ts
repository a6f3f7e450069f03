import {
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  getSignatureFromTransaction,
  getTransactionDecoder,
  getU64Decoder,
  isSolanaError,
  address,
  getAddressEncoder,
  getProgramDerivedAddress,
} from '@solana/kit';
import type { PayingAccounts } from '../core/network-family.ts';
import { UnreadablePayload, type PaymentRequirements } from '../core/wire.ts';

export const tokenProgram = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
export const associatedTokenProgram = address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');

/** Returns the address of the one token account to which an owner's tokens of that mint are sent. */
export const findTokenAccount = async (of: { owner: string; mint: string }): Promise<string> => {
  const encoder = getAddressEncoder();
  const seeds = [address(of.owner), tokenProgram, address(of.mint)].map((seed) => encoder.encode(seed));
  const [account] = await getProgramDerivedAddress({ programAddress: associatedTokenProgram, seeds });
  return account;
};

interface SolanaTransaction {
  /** The signed bytes: all of the transaction but its signatures. */
  message: Uint8Array;
  blockhash: string;
  /** The accounts that the message names itself, without those of lookup tables. The first one pays the fees. */
  accounts: string[];
}

const decode = (base64: string) => getTransactionDecoder().decode(getBase64Encoder().encode(base64));

/**
 * Reads a base64 transaction. Throws UnreadablePayload for anything that is not one, and for a message that is not
 * written in its one canonical form: a second way to write the same payment would be a second identity.
 */
export const readSolanaTransaction = (base64: string): SolanaTransaction => {
  const { message, compiled, canonical } = decodeWhole(base64);
  if (Buffer.compare(message, Uint8Array.from(canonical)) !== 0)
    throw new UnreadablePayload('the message is not in canonical form');
  if (!('lifetimeToken' in compiled)) throw new UnreadablePayload('the message has no blockhash');
  return { message, blockhash: compiled.lifetimeToken, accounts: [...compiled.staticAccounts] };
};

const decodeWhole = (base64: string) => {
  try {
    const message = Uint8Array.from(decode(base64).messageBytes);
    const compiled = getCompiledTransactionMessageDecoder().decode(message);
    return { message, compiled, canonical: getCompiledTransactionMessageEncoder().encode(compiled) };
  } catch (cause) {
    // The decoder reads beyond the end of some short messages.
    if (isSolanaError(cause) || cause instanceof RangeError)
      throw new UnreadablePayload('the transaction cannot be decoded', { cause });
    throw cause;
  }
};

/** Returns the signature that names a transaction: the fee payer's. */
export const signatureOf = (transaction: string): string => getSignatureFromTransaction(decode(transaction));

/** Tells whether a base64 transaction carries that message. Bytes that are no transaction carry none. */
export const carriesMessage = (transaction: string, message: Uint8Array): boolean => {
  try {
    return Buffer.compare(readSolanaTransaction(transaction).message, message) === 0;
  } catch {
    return false;
  }
};

const transferChecked = 12;
const amountBytes = 8;

/**
 * Finds the instruction of a base64 transaction that moves the price, in the terms' token, to the seller's token
 * account. Returns the accounts that it charges; null when there is none. When the transaction has landed without an
 * error, the price was moved. Throws for bytes that are no transaction.
 */
export const findSolanaTransfer = async (
  transaction: string,
  { asset, amount, payTo }: PaymentRequirements,
): Promise<PayingAccounts | null> => {
  const message = getCompiledTransactionMessageDecoder().decode(decode(transaction).messageBytes);
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
    // An account of a lookup table is not in the message, and its balance cannot be counted.
    if (source === undefined) continue;
    const isOwn = owner !== undefined && source === (await findTokenAccount({ owner, mint: asset }));
    return { payer: isOwn ? owner : null, source };
  }
  return null;
};

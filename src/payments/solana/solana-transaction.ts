import {
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  getTransactionDecoder,
} from '@solana/kit';

export interface SolanaTransaction {
  /** What was signed: all of the transaction but its signatures. */
  message: Uint8Array;
  /** The blockhash that bounds its life. */
  blockhash: string;
  /** The accounts that it names itself. */
  accounts: string[];
}

/**
 * Reads a base64 transaction. Throws for anything that is not one, and for a message that is not written in its
 * one canonical form: a second way to write the same payment would be a second identity.
 */
export const readSolanaTransaction = (base64: string): SolanaTransaction => {
  const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(base64));
  const message = Uint8Array.from(transaction.messageBytes);
  const compiled = getCompiledTransactionMessageDecoder().decode(message);
  const canonical = getCompiledTransactionMessageEncoder().encode(compiled);
  if (Buffer.compare(message, Uint8Array.from(canonical)) !== 0)
    throw new TypeError('the message is not in canonical form');
  if (!('lifetimeToken' in compiled)) throw new TypeError('the message has no blockhash');
  return { message, blockhash: compiled.lifetimeToken, accounts: [...compiled.staticAccounts] };
};

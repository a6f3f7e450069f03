import { base58 } from '@scure/base';

const maxCharacters = 128;

/** Encodes bytes in Bitcoin's base58, as Solana writes addresses, keys and signatures. */
export const encodeBase58 = (bytes: Uint8Array): string => base58.encode(bytes);

/** Decodes a base58 text of up to 128 characters. Null for any other text. */
export const decodeBase58 = (text: string): Uint8Array | null => {
  if (text.length > maxCharacters) return null;
  try {
    return base58.decode(text);
  } catch {
    return null;
  }
};

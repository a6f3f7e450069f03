const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const maxCharacters = 128;

/** Encodes bytes in Bitcoin's base58, as Solana writes addresses, keys and signatures. */
export const encodeBase58 = (bytes: Uint8Array): string => {
  let value = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  for (; value > 0n; value /= 58n) text = alphabet.charAt(Number(value % 58n)) + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros === -1 ? bytes.length : zeros) + text;
};

/** Decodes a base58 text of up to 128 characters. Null for any other text. */
export const decodeBase58 = (text: string): Uint8Array | null => {
  if (text.length > maxCharacters) return null;
  let value = 0n;
  for (const character of text) {
    const digit = alphabet.indexOf(character);
    if (digit === -1) return null;
    value = value * 58n + BigInt(digit);
  }
  const zeros = /^1*/.exec(text)?.[0].length ?? 0;
  const hex = value === 0n ? '' : value.toString(16);
  const digits = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return Uint8Array.from([...new Uint8Array(zeros), ...digits]);
};

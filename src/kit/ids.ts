import { createHash, randomBytes, randomUUID } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Makes a random UUID, for jobs, accounts and ledger entries. */
export const newId = (): string => randomUUID();

/** Makes a random text of `length` base62 characters (5.95 bits each), from a secure source and without modulo bias. */
export const randomBase62 = (length: number): string => {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < 248 && text.length < length) text += alphabet.charAt(byte % 62);
    }
  }
  return text;
};

/** Makes an API key: `sk_<brand>_` and 43 base62 characters (256 bits). */
export const newApiKey = (brand: string): string => `sk_${brand}_${randomBase62(43)}`;

/** True if `text` has the form of an API key of any brand and looks random, unlike a placeholder in an example. */
export const isApiKey = (text: string): boolean =>
  /^sk_[a-z]{2,20}_[0-9A-Za-z]{43}$/.test(text) && new Set(text.slice(-43)).size >= 12;

/** Returns the SHA-256 in lower-case hexadecimal. */
export const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** True if `text` is a UUID in lower case, as this service issues them. */
export const isUuid = (text: string): boolean => uuidPattern.test(text);

import { hash, randomBytes, randomUUID } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

let millisecond = 0;
let madeInIt = 0;

/**
 * Makes a UUID of version 7: rows that are written together are neighbours in the indexes, and few pages change. The ids of
 * a process are in the order in which they were made: 12 bits count those of one millisecond (RFC 9562, 6.2).
 */
export const newId = (): string => {
  const now = Date.now();
  madeInIt = now === millisecond ? (madeInIt + 1) % 0x1000 : 0;
  millisecond = now;
  const time = now.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-${(0x7000 + madeInIt).toString(16)}${randomUUID().slice(18)}`;
};

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

/** Makes an operator key: `op_<brand>_` and 43 base62 characters. */
export const newOperatorKey = (brand: string): string => `op_${brand}_${randomBase62(43)}`;

/** True if `text` has the form of an API key of any brand and looks random, unlike a placeholder in an example. */
export const isApiKey = (text: string): boolean =>
  /^sk_[a-z]{2,20}_[0-9A-Za-z]{43}$/.test(text) && new Set(text.slice(-43)).size >= 12;

/** Returns the SHA-256 in lower-case hexadecimal. */
export const sha256 = (data: string | Uint8Array): string => hash('sha256', data);

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** True if `text` is a UUID in lower case, as this service issues them. */
export const isUuid = (text: string): boolean => uuidPattern.test(text);

import { createHash, randomBytes, randomUUID } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A random UUID: jobs, accounts, ledger entries. */
export const newId = (): string => randomUUID();

/** `length` base62 characters of cryptographic randomness (5.95 bits each), without modulo bias. */
export const randomBase62 = (length: number): string => {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < 248 && text.length < length) text += alphabet.charAt(byte % 62);
    }
  }
  return text;
};

/** A new API key: `sk_<brand>_` and 43 base62 characters (256 bits). */
export const newApiKey = (brand: string): string => `sk_${brand}_${randomBase62(43)}`;

/** Whether `text` has the form of an API key of any brand, and is random, unlike the placeholder of an example. */
export const isApiKey = (text: string): boolean =>
  /^sk_[a-z]{2,20}_[0-9A-Za-z]{43}$/.test(text) && new Set(text.slice(-43)).size >= 12;

/** Lower-case hex SHA-256; what is stored of a key, and what binds a request to an idempotency key. */
export const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether `text` is a UUID in the lower-case form this service issues. */
export const isUuid = (text: string): boolean => uuidPattern.test(text);

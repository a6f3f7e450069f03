import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** The time in seconds (4 bytes), chance, and the code that shows that this service made it. */
const headBytes = 10;
const codeBytes = 12;

const pattern = new RegExp(`^[0-9a-f]{${2 * (headBytes + codeBytes)}}$`);

const codeOf = (head: Uint8Array, secret: string): Buffer =>
  createHmac('sha256', secret).update(head).digest().subarray(0, codeBytes);

/** Makes a nonce that needs no memory until it is used. `now`: epoch milliseconds. */
export const newSignInNonce = (secret: string, now: number): string => {
  const head = randomBytes(headBytes);
  head.writeUInt32BE(Math.floor(now / 1000));
  return Buffer.concat([head, codeOf(head, secret)]).toString('hex');
};

/** Returns when a nonce was made, in epoch milliseconds; null for one that was not made with this secret. */
export const readSignInNonce = (nonce: string, secret: string): number | null => {
  if (!pattern.test(nonce)) return null;
  const bytes = Buffer.from(nonce, 'hex');
  const head = bytes.subarray(0, headBytes);
  return timingSafeEqual(bytes.subarray(headBytes), codeOf(head, secret)) ? head.readUInt32BE() * 1000 : null;
};

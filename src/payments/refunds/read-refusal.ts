import { RpcOutage, RpcRefusal } from '../core/json-rpc.ts';

const maxLength = 200;
/** What nodes say of a transaction that they have: no refusal. */
const alreadyThere = /already known|already imported|known transaction|already ?(?:been )?processed/i;
/** A node writes what it likes: line breaks, colours of the terminal, its own address with a key in it. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;
const address = /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi;
const longHex = /0x[0-9a-f]{65,}/gi;

/**
 * What a node said against a transaction, in one short line that can be printed. Null when it gave no answer, or has
 * the transaction already. Throws what no node caused.
 */
export const readRefusal = (error: unknown): string | null => {
  if (error instanceof RpcOutage) return null;
  if (!(error instanceof RpcRefusal)) throw error;
  if (alreadyThere.test(error.message)) return null;
  const line = error.message
    .slice(0, 10 * maxLength)
    .replace(unprintable, ' ')
    .replace(address, '(address)')
    .replace(longHex, '(bytes)')
    .replace(/\s+/g, ' ')
    .trim();
  return line === '' ? `error ${error.code}` : line.slice(0, maxLength);
};

import { RpcOutage, RpcRefusal } from './json-rpc.ts';

const maxLength = 200;
/** The words of nodes that have the transaction already, which is no refusal. */
const alreadyThere = /already known|already imported|known transaction|already ?(?:been )?processed/i;
/** A node may write anything: line breaks, terminal colours, its own address with a key in it. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;
const address = /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi;
const longHex = /0x[0-9a-f]{65,}/gi;

/**
 * Sends a transaction, and returns the node's objection in one short line that can be printed. Null when the node has
 * the transaction, or gave no answer. Rejects with errors that no node caused.
 */
export const readRefusal = async (sending: Promise<void>): Promise<string | null> => {
  try {
    await sending;
    return null;
  } catch (error) {
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
  }
};

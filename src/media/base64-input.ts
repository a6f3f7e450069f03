import { setImmediate as nextTurn } from 'node:timers/promises';

/** Characters that are decoded in one go (a few milliseconds); a multiple of four. */
const sliceLength = 2 ** 21;

/**
 * The bytes of a standard base64 text (RFC 4648, section 4: padded, no line breaks, no spare bits); null for anything
 * else. A long text is decoded piece by piece, with other work in between.
 */
export const decodeBase64 = async (text: string): Promise<Buffer | null> => {
  const parts: Buffer[] = [];
  for (let start = 0; start < text.length; start += sliceLength) {
    if (start > 0) await nextTurn();
    const slice = text.slice(start, start + sliceLength);
    const bytes = Buffer.from(slice, 'base64');
    // Node's decoder skips, or misreads, what is no base64; written again, only a proper text comes out as it was.
    if (bytes.toString('base64') !== slice) return null;
    // Padding ends a text.
    if (slice.endsWith('=') && start + sliceLength < text.length) return null;
    parts.push(bytes);
  }
  return Buffer.concat(parts);
};

/** How many bytes a base64 text stands for, at most. */
export const decodedLength = (text: string): number => Math.floor((text.length * 3) / 4);

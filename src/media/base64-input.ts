import { setImmediate as nextTurn } from 'node:timers/promises';

/** Characters that are decoded without a pause (a few milliseconds); a multiple of four. */
const sliceLength = 2 ** 21;

/**
 * Decodes standard base64 (RFC 4648, section 4: padded, no line breaks, no spare bits); null for anything else. Decodes
 * a long text in pieces, so that other work can run in between.
 */
export const decodeBase64 = async (text: string): Promise<Buffer | null> => {
  const parts: Buffer[] = [];
  for (let start = 0; start < text.length; start += sliceLength) {
    if (start > 0) await nextTurn();
    const slice = text.slice(start, start + sliceLength);
    const bytes = Buffer.from(slice, 'base64');
    // Node's decoder skips or misreads invalid characters. Only a valid text is the same after encoding it again.
    if (bytes.toString('base64') !== slice) return null;
    // Padding is allowed only at the end of the text.
    if (slice.endsWith('=') && start + sliceLength < text.length) return null;
    parts.push(bytes);
  }
  return Buffer.concat(parts);
};

export const decodedLength = (text: string): number => Math.floor((text.length * 3) / 4);

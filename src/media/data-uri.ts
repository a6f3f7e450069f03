import { setImmediate as nextTurn } from 'node:timers/promises';

export type DataUriRead =
  | { outcome: 'read'; declared: string; bytes: Buffer }
  | { outcome: 'malformed' }
  | { outcome: 'too_large' };

/** `data:<type>/<subtype>;base64,` with a type by RFC 6838. */
const head = /^data:([a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63});base64,/i;
const longestHead = 'data:;base64,'.length + 129;

export const isDataUri = (text: string): boolean => /^data:/i.test(text);

/** Reads exactly `data:<mime>;base64,<data>`, so that two readers cannot see different bytes in it. */
export const readDataUri = async (text: string, maxBytes: number): Promise<DataUriRead> => {
  const found = head.exec(text.slice(0, longestHead));
  const declared = found?.[1];
  if (found === null || declared === undefined) return { outcome: 'malformed' };
  const data = text.slice(found[0].length);
  // Up to two characters may be padding.
  if (decodedLength(data) - 2 > maxBytes) return { outcome: 'too_large' };
  const bytes = await decodeBase64(data);
  if (bytes === null) return { outcome: 'malformed' };
  return bytes.length > maxBytes ? { outcome: 'too_large' } : { outcome: 'read', declared, bytes };
};

/** Characters that are decoded without a pause (a few milliseconds); a multiple of four. */
const sliceLength = 2 ** 21;

/** Decodes strict base64 (RFC 4648, section 4); null for anything else. Other work runs between pieces of a long text. */
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

const decodedLength = (text: string): number => Math.floor((text.length * 3) / 4);

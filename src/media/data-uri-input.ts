import { decodeBase64, decodedLength } from './base64-input.ts';

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

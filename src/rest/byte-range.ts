import type { ByteRange } from '../media/media-files.ts';

const onePattern = /^bytes=(\d*)-(\d*)$/i;
/** A unit other than bytes, which a server must ignore (RFC 9110, 14.2). */
const otherUnitPattern = /^(?!bytes=)[!#$%&'*+.^_`|~\w-]+=/i;

/**
 * Reads a Range header for `size` bytes. Returns `whole` without one, or for another unit than bytes. Returns
 * `unsatisfiable` for several ranges, for a malformed header, and for a range outside `size`.
 */
export const parseByteRange = (
  header: string | undefined,
  size: number,
): ByteRange | 'whole' | 'unsatisfiable' => {
  if (header === undefined || otherUnitPattern.test(header)) return 'whole';
  const [, first = '', last = ''] = onePattern.exec(header) ?? [];
  if (first === '' && last === '') return 'unsatisfiable';
  const range =
    first === ''
      ? { start: Math.max(0, size - Number(last)), end: size - 1 }
      : { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
  return range.start <= range.end ? range : 'unsatisfiable';
};

import type { ByteRange } from '../media/media-files.ts';

const onePattern = /^bytes=(\d*)-(\d*)$/i;
/** Another unit than bytes, which RFC 9110 (14.2) has a server ignore. */
const otherUnitPattern = /^(?!bytes=)[!#$%&'*+.^_`|~\w-]+=/i;

/**
 * What a Range header asks of `size` bytes: `whole` without one, or with a unit that is not ours. Several ranges, anything
 * malformed, and a range that has no byte within `size` are `unsatisfiable`.
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

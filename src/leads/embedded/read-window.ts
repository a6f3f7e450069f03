import { readSync } from 'node:fs';

/** Reads a range of a file piece by piece. Throws RangeError if the file ends too early. */
export const createReadWindow = (
  descriptor: number,
  { start, end, bufferBytes }: { start: number; end: number; bufferBytes: number },
) => {
  let buffer = Buffer.allocUnsafe(bufferBytes);
  let filled = 0;
  let at = 0;
  let next = start;

  /** Makes `bytes` available from `at` on. */
  const need = (bytes: number): void => {
    if (filled - at >= bytes) return;
    const left = filled - at;
    const target = bytes > buffer.length ? Buffer.allocUnsafe(bytes * 2) : buffer;
    buffer.copy(target, 0, at, filled);
    buffer = target;
    at = 0;
    filled = left;
    while (filled < bytes) {
      const length = readSync(descriptor, buffer, filled, Math.min(buffer.length - filled, end - next), next);
      if (length === 0) throw new RangeError('a sorted run ends too early');
      filled += length;
      next += length;
    }
  };
  const byte = (): number => {
    if (at === filled) need(1);
    const value = buffer[at] ?? 0;
    at += 1;
    return value;
  };

  return {
    isAtEnd: (): boolean => at === filled && next === end,
    /** Reads a number that a ByteWriter wrote. */
    varint: (): number => {
      let read = byte();
      let value = read & 0x7f;
      let factor = 0x80;
      while (read >= 0x80) {
        read = byte();
        value += (read & 0x7f) * factor;
        factor *= 0x80;
      }
      return value;
    },
    text: (bytes: number, encoding: 'utf8' | 'utf16le' | 'latin1'): string => {
      need(bytes);
      at += bytes;
      return buffer.toString(encoding, at - bytes, at);
    },
  };
};

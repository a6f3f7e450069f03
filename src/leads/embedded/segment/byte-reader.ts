export type ByteReader = ReturnType<typeof createByteReader>;

/** Reads the output of `createByteWriter`. Throws RangeError if the bytes end too early. */
export const createByteReader = (bytes: Uint8Array) => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let position = 0;

  const advance = (count: number): number => {
    const start = position;
    if (start + count > buffer.length) throw new RangeError('the bytes end too early');
    position = start + count;
    return start;
  };
  const varint = (): number => {
    let byte = buffer[advance(1)] ?? 0;
    let value = byte & 0x7f;
    let factor = 0x80;
    while (byte >= 0x80) {
      byte = buffer[advance(1)] ?? 0;
      value += (byte & 0x7f) * factor;
      factor *= 0x80;
    }
    return value;
  };

  let isWide = false;
  let textStart = 0;
  /** Skips a text and returns its number of units. `unit` reads them until the next text. */
  const passText = (): number => {
    const head = varint();
    isWide = head % 2 === 1;
    const units = (head - Number(isWide)) / 2;
    textStart = advance(isWide ? units * 2 : units);
    return units;
  };

  return {
    get isAtEnd(): boolean {
      return position >= buffer.length;
    },
    varint,
    text: (): string => {
      passText();
      return buffer.toString(isWide ? 'utf16le' : 'latin1', textStart, position);
    },
    passText,
    unit: (index: number): number =>
      isWide ? buffer.readUInt16LE(textStart + index * 2) : (buffer[textStart + index] ?? 0),
    /** Reads `count` distinct numbers, written by `ascending` of the writer. */
    ascending: (count: number): Uint32Array => {
      const numbers = new Uint32Array(count);
      let last = -1;
      for (let index = 0; index < count; index += 1) {
        const byte = buffer[position] ?? 0x80;
        if (byte < 0x80) {
          position += 1;
          last += byte + 1;
        } else {
          last += varint() + 1;
        }
        numbers[index] = last;
      }
      return numbers;
    },
    skip: (count: number): void => {
      for (let left = count; left > 0; left -= 1) varint();
    },
  };
};

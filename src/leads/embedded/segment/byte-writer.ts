export const createByteWriter = (initialBytes: number) => {
  let buffer = Buffer.allocUnsafe(initialBytes);
  let length = 0;

  const reserve = (bytes: number): void => {
    if (length + bytes <= buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, length + bytes));
    buffer.copy(larger, 0, 0, length);
    buffer = larger;
  };
  /** Writes a whole number from 0 to 2^53 - 1, seven bits per byte, lowest first. */
  const varint = (value: number): void => {
    reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      buffer[length] = (rest % 0x80) + 0x80;
      length += 1;
      rest = rest < 0x8000_0000 ? rest >>> 7 : Math.floor(rest / 0x80);
    }
    buffer[length] = rest;
    length += 1;
  };

  return {
    get length(): number {
      return length;
    },
    varint,
    bytes: (bytes: Uint8Array): void => {
      reserve(bytes.length);
      buffer.set(bytes, length);
      length += bytes.length;
    },
    /** Writes distinct numbers, ascending from 0, as their differences. */
    ascending: (numbers: Uint16Array | Uint32Array): void => {
      let last = -1;
      for (const number of numbers) {
        varint(number - last - 1);
        last = number;
      }
    },
    /** Writes the units of `text` from `start` on, for `ByteReader.text`. */
    text: (text: string, start: number): void => {
      const units = text.length - start;
      const isWide = hasWideUnit(text, start);
      varint(units * 2 + Number(isWide));
      reserve(units * 2);
      for (let index = start; index < text.length; index += 1) {
        const unit = text.charCodeAt(index);
        buffer[length] = unit;
        length += 1;
        if (isWide) {
          buffer[length] = unit >>> 8;
          length += 1;
        }
      }
    },
    /** Returns a view of the written bytes, valid until the next call. */
    view: (): Buffer => buffer.subarray(0, length),
    clear: (): void => {
      length = 0;
    },
  };
};

const hasWideUnit = (text: string, start: number): boolean => {
  for (let index = start; index < text.length; index += 1) if (text.charCodeAt(index) > 0xff) return true;
  return false;
};

/** Bytes that grow; read again with a ByteReader. */
export interface ByteWriter {
  readonly length: number;
  /** A whole number from 0 to 2^31 - 1, seven bits a byte, the lowest first. */
  varint(value: number): void;
  /** Well-formed text. */
  text(text: string): void;
  bytes(bytes: Uint8Array): void;
  /** A copy of what was written, which is forgotten here. */
  take(): Buffer;
}

export const createByteWriter = (): ByteWriter => {
  let buffer = Buffer.allocUnsafe(16 * 1024);
  let length = 0;

  const reserve = (bytes: number): void => {
    if (length + bytes <= buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, length + bytes));
    buffer.copy(larger, 0, 0, length);
    buffer = larger;
  };
  const varint = (value: number): void => {
    reserve(varintBytes(value));
    length = writeVarint(buffer, { value, at: length });
  };

  return {
    get length() {
      return length;
    },
    varint,
    text: (text) => {
      const bytes = Buffer.byteLength(text);
      varint(bytes);
      reserve(bytes);
      length += buffer.write(text, length);
    },
    bytes: (bytes) => {
      reserve(bytes.length);
      buffer.set(bytes, length);
      length += bytes.length;
    },
    take: () => {
      const taken = Buffer.from(buffer.subarray(0, length));
      length = 0;
      return taken;
    },
  };
};

export const varintBytes = (value: number): number => {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest >>>= 7) bytes += 1;
  return bytes;
};

/** Answers where the next byte comes. */
export const writeVarint = (bytes: Uint8Array, { value, at }: { value: number; at: number }): number => {
  let [rest, position] = [value, at];
  while (rest >= 0x80) {
    bytes[position] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
    position += 1;
  }
  bytes[position] = rest;
  return position + 1;
};

/** Every method throws RangeError where the bytes end too early. */
export interface ByteReader {
  readonly isAtEnd: boolean;
  varint(): number;
  text(): string;
  /** A view of the next bytes. */
  bytes(count: number): Uint8Array;
}

export const createByteReader = (bytes: Uint8Array): ByteReader => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let position = 0;

  const advance = (count: number): number => {
    const start = position;
    if (start + count > buffer.length) throw new RangeError('the bytes end too early');
    position = start + count;
    return start;
  };
  const varint = (): number => {
    let byte = 0x80;
    let value = 0;
    for (let shift = 0; byte >= 0x80; shift += 7) {
      byte = buffer[advance(1)] ?? 0;
      value |= (byte & 0x7f) << shift;
    }
    return value;
  };

  return {
    get isAtEnd() {
      return position >= buffer.length;
    },
    varint,
    text: () => {
      const count = varint();
      const start = advance(count);
      return buffer.toString('utf8', start, position);
    },
    bytes: (count) => {
      const start = advance(count);
      return buffer.subarray(start, position);
    },
  };
};

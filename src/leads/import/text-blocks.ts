import { isUtf8 } from 'node:buffer';

/** A position in a text file between two lines: the unpacked byte, and the number of the line after it. */
export interface TextPlace {
  byte: number;
  /** From 1. */
  line: number;
}

/** Whole lines of text. Only the last line of a file may lack its line feed. */
export interface TextBlock {
  text: string;
  start: TextPlace;
  end: TextPlace;
  /**
   * Lines that are not UTF-8, or null. In them `text` has a question mark for each non-ASCII byte, so its length equals
   * the number of bytes.
   */
  notUtf8: ReadonlySet<number> | null;
  /** True if this is one line longer than `longestLine`, and `text` is only its beginning. */
  isCut: boolean;
}

/** In bytes. A longer line is not a profile, and one line is held in memory as a whole. */
export const longestLine = 1024 * 1024;
/** Bytes kept of a line that is too long, for its report. */
const keptOfCut = 4096;
const lineFeed = 0x0a;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Cuts `chunks`, from position `start` on, into blocks of whole lines, in order and without gaps. A byte order mark at
 * the beginning of the file is removed. Memory: two chunks and `longestLine`.
 */
export async function* textBlocks(
  chunks: AsyncIterable<Buffer>,
  start: TextPlace,
): AsyncGenerator<TextBlock> {
  let place = start;
  /** Whole lines, and the beginning of a line whose end has not arrived. */
  let held: Buffer[] = [];
  let heldBytes = 0;
  /** The line that is too long and whose end has not arrived. */
  let cut: { kept: Buffer; bytes: number } | null = null;

  const hold = (bytes: Buffer): void => {
    held.push(bytes);
    heldBytes += bytes.length;
  };
  const release = (): Buffer => {
    const [first, ...others] = held;
    const bytes = first !== undefined && others.length === 0 ? first : Buffer.concat(held);
    held = [];
    heldBytes = 0;
    return bytes;
  };
  const wholeBlock = (bytes: Buffer): TextBlock => {
    const begin = place.byte === 0 && bytes.subarray(0, 3).equals(byteOrderMark) ? 3 : 0;
    const end = { byte: place.byte + bytes.length, line: place.line + countLineFeeds(bytes) };
    const { text, notUtf8 } = decode(bytes.subarray(begin), place.line);
    const block = { text, start: { byte: place.byte + begin, line: place.line }, end, notUtf8, isCut: false };
    place = end;
    return block;
  };
  const cutBlock = ({ kept, bytes }: { kept: Buffer; bytes: number }): TextBlock => {
    const end = { byte: place.byte + bytes, line: place.line + 1 };
    const block = { ...decode(kept, place.line), start: place, end, isCut: true };
    place = end;
    return block;
  };

  for await (const chunk of chunks) {
    let rest = chunk;
    const firstEnd = rest.indexOf(lineFeed) + 1;
    if (cut === null && heldBytes + (firstEnd === 0 ? rest.length : firstEnd) > longestLine) {
      // Only part of the open line: never more than one whole line is held.
      cut = { kept: Buffer.concat([...held, rest], keptOfCut), bytes: heldBytes };
      release();
    }
    if (cut !== null) {
      cut.bytes += firstEnd === 0 ? rest.length : firstEnd;
      if (firstEnd === 0) continue;
      yield cutBlock(cut);
      cut = null;
      rest = rest.subarray(firstEnd);
    }
    const lastEnd = rest.lastIndexOf(lineFeed) + 1;
    if (lastEnd > 0) {
      hold(rest.subarray(0, lastEnd));
      yield wholeBlock(release());
    }
    if (lastEnd < rest.length) hold(rest.subarray(lastEnd));
  }
  if (cut !== null) yield cutBlock(cut);
  if (heldBytes > 0) yield wholeBlock(release());
}

const countLineFeeds = (bytes: Buffer): number => {
  let count = 0;
  for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) count += 1;
  return count;
};

const decode = (bytes: Buffer, line: number): Pick<TextBlock, 'text' | 'notUtf8'> => {
  if (isUtf8(bytes)) return { text: bytes.toString('utf8'), notUtf8: null };
  const notUtf8 = new Set<number>();
  const readable = Buffer.from(bytes);
  let number = line;
  for (let start = 0; start < readable.length; number += 1) {
    const next = readable.indexOf(lineFeed, start) + 1;
    const end = next === 0 ? readable.length : next;
    if (!isUtf8(readable.subarray(start, end))) {
      notUtf8.add(number);
      for (let at = start; at < end; at += 1) if ((readable[at] ?? 0) > 0x7f) readable[at] = 0x3f;
    }
    start = end;
  }
  return { text: readable.toString('utf8'), notUtf8 };
};

/** Joins two blocks. `from` is an index in the first block's text, whose beginning is cut off. */
export const joinBlocks = (
  first: { block: TextBlock; from: number; start: TextPlace },
  second: TextBlock,
): TextBlock => {
  const { notUtf8 } = first.block;
  return {
    text: first.block.text.slice(first.from) + second.text,
    start: first.start,
    end: second.end,
    notUtf8: notUtf8 === null ? second.notUtf8 : new Set([...notUtf8, ...(second.notUtf8 ?? [])]),
    isCut: false,
  };
};

/** Returns a function that gives the byte of a position in a block. Positions must ascend. */
export const countBytes = ({ text, start }: TextBlock): ((index: number) => number) => {
  let byte = start.byte;
  let counted = 0;
  return (index) => {
    byte += Buffer.byteLength(text.slice(counted, index));
    counted = index;
    return byte;
  };
};

export const notUtf8Problem =
  'The row is not UTF-8. Convert the file first: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW';
export const tooLongProblem = `The line is longer than ${longestLine} bytes.`;

import { isUtf8 } from 'node:buffer';

/** Whole lines of text. Only the last line of a file may lack its line feed. */
export interface TextBlock {
  text: string;
  /** The number of the first line, from 1. */
  line: number;
  /** Lines that are not UTF-8, or null. In them `text` has a question mark for each byte that is not ASCII. */
  notUtf8: ReadonlySet<number> | null;
  /** True if this is one line longer than `maxLineBytes`, and `text` is only its beginning. */
  isCut: boolean;
}

/** A longer line is not a profile, and one line is held in memory as a whole. */
export const maxLineBytes = 1024 * 1024;
/** Bytes kept of a line that is too long, for its report. */
const keptOfCut = 4096;
const lineFeed = 0x0a;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Cuts `chunks` into blocks of whole lines, in order and without gaps. A byte order mark at the beginning is removed.
 * Memory: two chunks and `maxLineBytes`.
 */
export async function* textBlocks(chunks: AsyncIterable<Buffer>): AsyncGenerator<TextBlock> {
  let line = 1;
  let isFirst = true;
  /** Whole lines, and the beginning of a line whose end has not arrived. */
  let held: Buffer[] = [];
  let heldBytes = 0;
  /** The beginning of a line that is too long and whose end has not arrived. */
  let cut: Buffer | null = null;

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
  const toBlock = (bytes: Buffer, isCut: boolean): TextBlock => {
    const begin = isFirst && bytes.subarray(0, 3).equals(byteOrderMark) ? 3 : 0;
    const block = { ...decode(bytes.subarray(begin), line), line, isCut };
    line += isCut ? 1 : countLineFeeds(bytes);
    isFirst = false;
    return block;
  };

  for await (const chunk of chunks) {
    let rest = chunk;
    const firstEnd = rest.indexOf(lineFeed) + 1;
    if (cut === null && heldBytes + (firstEnd === 0 ? rest.length : firstEnd) > maxLineBytes) {
      // Only part of the open line: never more than one whole line is held.
      cut = Buffer.concat([...held, rest], keptOfCut);
      release();
    }
    if (cut !== null) {
      if (firstEnd === 0) continue;
      yield toBlock(cut, true);
      cut = null;
      rest = rest.subarray(firstEnd);
    }
    const lastEnd = rest.lastIndexOf(lineFeed) + 1;
    if (lastEnd > 0) {
      hold(rest.subarray(0, lastEnd));
      yield toBlock(release(), false);
    }
    if (lastEnd < rest.length) hold(rest.subarray(lastEnd));
  }
  if (cut !== null) yield toBlock(cut, true);
  if (heldBytes > 0) yield toBlock(release(), false);
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

/** Joins two blocks that follow each other. The first one is cut off before index `from`, which is in line `line`. */
export const joinBlocks = (
  first: { block: TextBlock; from: number; line: number },
  second: TextBlock,
): TextBlock => {
  const { notUtf8 } = first.block;
  return {
    text: first.block.text.slice(first.from) + second.text,
    line: first.line,
    notUtf8: notUtf8 === null ? second.notUtf8 : new Set([...notUtf8, ...(second.notUtf8 ?? [])]),
    isCut: false,
  };
};

export const notUtf8Problem =
  'The row is not UTF-8. Convert the file first: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW';
export const tooLongProblem = `The line is longer than ${maxLineBytes} bytes.`;

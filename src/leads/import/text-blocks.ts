import { isUtf8 } from 'node:buffer';

/** Whole lines of text. Only the last line of a file may lack its line feed. */
export interface TextBlock {
  text: string;
  /** True if this is one line longer than `maxLineBytes`, and `text` is only its beginning. */
  isCut: boolean;
}

/** A longer line is not a profile, and one line is held in memory as a whole. */
export const maxLineBytes = 1024 * 1024;
/** Bytes kept of a line that is too long, for its report. */
const keptOfCut = 4096;
const lineFeed = 0x0a;

/** Stands in a text for bytes that are not UTF-8. No text in UTF-8 has two low surrogates in a row. */
export const notUtf8Mark = '\uDC00\uDC00';

/**
 * Cuts `chunks` into blocks of whole lines, in order and without gaps. A byte order mark at the beginning is removed.
 * Memory: two chunks and `maxLineBytes`.
 */
export async function* textBlocks(chunks: AsyncIterable<Buffer>): AsyncGenerator<TextBlock> {
  /** The beginning of a line whose end has not arrived. */
  let held: Buffer[] = [];
  let heldBytes = 0;
  /** True up to the end of a line that is too long. */
  let isSkipping = false;
  let isFirst = true;
  const toBlock = (bytes: Buffer, isCut = false): TextBlock => {
    const text = isFirst ? decode(bytes).replace(/^\uFEFF/, '') : decode(bytes);
    [held, heldBytes, isFirst] = [[], 0, false];
    return { text, isCut };
  };

  for await (const chunk of chunks) {
    let rest = chunk;
    const firstEnd = rest.indexOf(lineFeed) + 1;
    if (!isSkipping && heldBytes + (firstEnd === 0 ? rest.length : firstEnd) > maxLineBytes) {
      yield toBlock(Buffer.concat([...held, rest], keptOfCut), true);
      isSkipping = true;
    }
    if (isSkipping) {
      if (firstEnd === 0) continue;
      rest = rest.subarray(firstEnd);
      isSkipping = false;
    }
    const lastEnd = rest.lastIndexOf(lineFeed) + 1;
    if (lastEnd > 0) yield toBlock(Buffer.concat([...held, rest.subarray(0, lastEnd)]));
    if (lastEnd === rest.length) continue;
    held.push(rest.subarray(lastEnd));
    heldBytes += rest.length - lastEnd;
  }
  if (heldBytes > 0) yield toBlock(Buffer.concat(held));
}

const decode = (bytes: Buffer): string => {
  if (isUtf8(bytes)) return bytes.toString();
  let text = '';
  for (let start = 0; start < bytes.length;) {
    const next = bytes.indexOf(lineFeed, start) + 1;
    const line = bytes.subarray(start, next === 0 ? bytes.length : next);
    text += isUtf8(line) ? line.toString() : line.toString().replaceAll('\uFFFD', notUtf8Mark);
    start += line.length;
  }
  return text;
};

export const notUtf8Problem =
  'The row is not UTF-8. Convert the file first: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW';
export const tooLongProblem = `The line is longer than ${maxLineBytes} bytes.`;

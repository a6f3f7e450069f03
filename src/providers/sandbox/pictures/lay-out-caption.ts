export interface CaptionLayout {
  fontSize: number;
  lines: string[];
}

const fontSizes = [64, 52, 42, 34, 28, 23, 19];
/** The mean width of a letter, as a part of the font size. */
const letterWidth = 0.56;
const lineHeight = 1.3;

/** Breaks a caption into lines in the largest type that fits the box. In the smallest type it is cut with an ellipsis. */
export const layOutCaption = (caption: string, box: { width: number; height: number }): CaptionLayout => {
  const words = printable(caption)
    .split(' ')
    .filter((word) => word !== '');
  let layout: CaptionLayout = { fontSize: 0, lines: [] };
  for (const fontSize of fontSizes) {
    layout = { fontSize, lines: wrap(words, Math.floor(box.width / (fontSize * letterWidth))) };
    if (layout.lines.length * fontSize * lineHeight <= box.height) return layout;
  }
  return cutToHeight(layout, box.height);
};

/** Characters that the font lacks, which would leave gaps, and those that XML 1.0 forbids. */
const notPrintable =
  /[^\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Mn}\p{Nd}\p{P}\p{Sc}\p{Sm}]+/gu;

const printable = (text: string): string => text.normalize('NFC').replace(notPrintable, ' ').trim();

const wrap = (words: readonly string[], lineLength: number): string[] => {
  const lines: string[] = [];
  for (const word of words.flatMap((long) => split(long, lineLength))) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= lineLength)
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
};

const split = (word: string, length: number): string[] => {
  const letters = Array.from(word);
  const parts: string[] = [];
  for (let start = 0; start < letters.length; start += length)
    parts.push(letters.slice(start, start + length).join(''));
  return parts;
};

const cutToHeight = ({ fontSize, lines }: CaptionLayout, height: number): CaptionLayout => {
  const count = Math.max(1, Math.floor(height / (fontSize * lineHeight)));
  const kept = lines.slice(0, count);
  if (kept.length < lines.length) kept.push(`${(kept.pop() ?? '').slice(0, -3).toWellFormed()}...`);
  return { fontSize, lines: kept };
};

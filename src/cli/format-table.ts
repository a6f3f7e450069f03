import { printable } from './printable.ts';

interface Column {
  title: string;
  /** Numbers are easier to compare when they end below each other. */
  align?: 'left' | 'right';
}

/** Rows in aligned columns below their titles, without control characters; no line ends in spaces. */
export const formatTable = (columns: readonly Column[], rows: readonly (readonly string[])[]): string => {
  const lines = [columns.map(({ title }) => title), ...rows.map((row) => row.map(printable))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => displayWidth(line[index] ?? ''))));
  return lines
    .map((line) =>
      columns
        .map(({ align = 'left' }, index) => {
          const cell = line[index] ?? '';
          const padding = ' '.repeat((widths[index] ?? 0) - displayWidth(cell));
          return align === 'left' ? cell + padding : padding + cell;
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};

const graphemes = new Intl.Segmenter();
/** What terminals draw two columns wide: East Asian scripts, full-width forms, emoji. */
const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u;

const displayWidth = (text: string): number => {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
};

/** Characters that move the cursor, colour, hide or reverse the text of a terminal. */
const control = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Removes control characters, so that text from outside stays on one line of a terminal. */
export const sanitizeCell = (text: string): string => text.replace(control, '');

/** A title; `right` aligns its cells to the right. */
type Column = string | { right: string };
type Cell = string | number | boolean | null;

const toText = (cell: Cell): string => {
  if (cell === null) return '-';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  return sanitizeCell(String(cell));
};

/** Formats rows in aligned columns below their titles. No line ends in spaces. */
export const formatTable = (columns: readonly Column[], rows: readonly (readonly Cell[])[]): string => {
  const titles = columns.map((column) => (typeof column === 'string' ? column : column.right));
  const lines = [titles, ...rows.map((row) => row.map(toText))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => displayWidth(line[index] ?? ''))));
  return lines
    .map((line) =>
      columns
        .map((column, index) => {
          const cell = line[index] ?? '';
          const padding = ' '.repeat((widths[index] ?? 0) - displayWidth(cell));
          return typeof column === 'string' ? cell + padding : padding + cell;
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};

const graphemes = new Intl.Segmenter();
/** Characters that terminals draw two columns wide: East Asian scripts, full-width forms, emoji. */
const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u;

const displayWidth = (text: string): number => {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
};

/** The characters that spreadsheets take for the beginning of a formula. */
const formulaStart = /^[=+\-@\t\r]/;

const toField = (text: string): string => {
  const harmless = formulaStart.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
};

/** Formats one record of CSV (RFC 4180) with its line break. No spreadsheet runs a field as a formula. */
export const csvLine = (fields: readonly string[]): string => `${fields.map(toField).join(',')}\r\n`;

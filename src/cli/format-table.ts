import { sanitizeLine } from '../kit/sanitize-line.ts';

/** The members of documents that a table shows, by the titles of its columns. `right` aligns cells to the right. */
type Columns = Readonly<Record<string, string | { right: string }>>;

const toText = (cell: unknown): string => {
  if (cell === null || cell === undefined) return '-';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  return sanitizeLine(typeof cell === 'string' ? cell : JSON.stringify(cell));
};

/** Formats documents in aligned columns below their titles. No line ends in spaces. */
export const formatTable = (
  columns: Columns,
  documents: readonly Readonly<Record<string, unknown>>[],
): string => {
  const formatted = Object.entries(columns).map(([title, member]) => {
    const key = typeof member === 'string' ? member : member.right;
    const cells = [title, ...documents.map((document) => toText(document[key]))];
    const width = Math.max(...cells.map(displayWidth));
    return cells.map((cell) => {
      const padding = ' '.repeat(width - displayWidth(cell));
      return typeof member === 'string' ? cell + padding : padding + cell;
    });
  });
  const lines = [null, ...documents].map((_, row) => formatted.map((cells) => cells[row]).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
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

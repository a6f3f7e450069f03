import { sanitizeLine } from '../kit/text.ts';

const toText = (cell: unknown): string => {
  if (cell === null || cell === undefined) return '-';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  return sanitizeLine(typeof cell === 'string' ? cell : JSON.stringify(cell));
};

/**
 * Formats documents in aligned columns. No line ends in spaces. `id=KEY_ID created_at >balance_usd` are members with the
 * titles KEY ID, CREATED and BALANCE USD, of which the last is aligned to the right.
 */
export const formatTable = (
  columns: string,
  documents: readonly Readonly<Record<string, unknown>>[],
): string => {
  const formatted = [...columns.matchAll(/(>?)(\w+)(?:=(\w+))?/g)].map(([, right, member = '', title]) => {
    const shown = title ?? member.replace(/_at$/, '').toUpperCase();
    const cells = [shown.replaceAll('_', ' '), ...documents.map((document) => toText(document[member]))];
    const width = Math.max(...cells.map(displayWidth));
    return cells.map((cell) => {
      const padding = ' '.repeat(width - displayWidth(cell));
      return right === '' ? cell + padding : padding + cell;
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

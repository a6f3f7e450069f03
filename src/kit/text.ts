/** Characters that move the cursor, colour, hide or reverse the text of a terminal. */
const control = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Removes control characters, so that text from outside stays on one line of a terminal. */
export const sanitizeLine = (text: string): string => text.replace(control, '');

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** Writes a line of cells with tabs between: within a cell a backslash, a tab and line ends are `\\`, `\t`, `\n` and `\r`. */
export const toTabLine = (cells: readonly string[]): string => {
  const written: string[] = [];
  for (const cell of cells) written.push(cell.replace(/[\\\t\n\r]/g, toEscape));
  return written.join('\t');
};

const toEscape = (character: string): string => escapes[character] ?? character;

/** Returns the brand as people read it. */
export const brandTitle = ({ brand }: { brand: string }): string =>
  `${brand.charAt(0).toUpperCase()}${brand.slice(1)}`;

/** Returns the first sentence of a text; the whole text when it has no end. */
export const firstSentence = (text: string): string => /^.*?[.](?=\s|$)/s.exec(text)?.[0] ?? text;

/** Finds the name with the fewest edits from `text`, at most `maxEdits`; null if there is none. */
export const nearestName = (text: string, names: readonly string[], maxEdits: number): string | null => {
  let nearest: string | null = null;
  let fewest = maxEdits + 1;
  for (const name of names) {
    if (Math.abs(name.length - text.length) >= fewest) continue;
    const edits = countEdits(text, name);
    if (edits >= fewest) continue;
    nearest = name;
    fewest = edits;
  }
  return nearest;
};

/** Counts added, removed and replaced letters, and swapped neighbours (optimal string alignment). */
const countEdits = (from: string, to: string): number => {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwap =
        row > 1 && column > 1 && from[row - 2] === to[column - 1] && from[row - 1] === to[column - 2];
      current.push(
        Math.min(
          (last[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (last[column - 1] ?? 0) + (isSame ? 0 : 1),
          isSwap ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
        ),
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
};

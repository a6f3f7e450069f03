/** What is read of a text, in UTF-16 units: the rest of a very long one costs nothing. */
const mostRead = 1000;

/**
 * Outside text as one cell of a table: without line breaks, control characters and the invisible characters that hide
 * text from people, without the `|` between cells, and cut to `longest` code points.
 */
export const oneLine = (text: string, longest: number): string => {
  const plain = text
    .slice(0, mostRead)
    .toWellFormed()
    .replace(invisible, '')
    .replace(breaks, ' ')
    .replace(cellBorders, '¦')
    .trim();
  const characters = Array.from(plain);
  return characters.length <= longest
    ? plain
    : `${characters
        .slice(0, longest - 1)
        .join('')
        .trimEnd()}…`;
};

/** One that joins emojis or chooses between their forms, where it does: elsewhere a row of them spells hidden bits. */
const ofEmojis =
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}]\uFE0F?)\u200D|(?<=\p{Extended_Pictographic})[\uFE0E\uFE0F]|\uFE0F(?=\u20E3)/u;
/** What no font shows, such as directions and tags. */
const invisible = new RegExp(`(?!${ofEmojis.source})[\\p{Cf}\\p{Default_Ignorable_Code_Point}]`, 'gu');
const breaks = /[\s\p{Cc}]+/gu;
/** Also those that look like it: full-width, box drawing, divides, dental click, extensions, half-width, bars. */
const cellBorders = /[|\uFF5C\u2502\u2503\u2223\u01C0\u23B8\u23B9\u23D0\uFFE8\u2758\u2759\u275A]/g;

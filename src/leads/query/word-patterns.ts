/*
 * Character classes of words in folded text. Unicode's script extensions tell unspaced scripts from others, so a mark
 * that several scripts share belongs to each of them.
 */
const scripts = ['Han', 'Hira', 'Kana', 'Thai', 'Lao', 'Khmr', 'Mymr'];
const unspacedLetters = `[${scripts.map((script) => `\\p{scx=${script}}`).join('')}]`;
const wordCharacters = String.raw`[\p{L}\p{N}\p{M}]`;

const unspaced = `[${wordCharacters}&&${unspacedLetters}]`;
const spaced = `[${wordCharacters}--${unspacedLetters}]`;

/** Matches each word. `unspaced` matches a script without spaces; other words end where such a script begins. */
export const words = new RegExp(`(?<unspaced>${unspaced}+)|${spaced}+`, 'gv');

export const onlyUnspaced = new RegExp(`^${unspaced}+$`, 'v');
export const onlySpaced = new RegExp(`^${spaced}+$`, 'v');
export const onlyDividers = new RegExp(`^[^${wordCharacters}]+$`, 'v');

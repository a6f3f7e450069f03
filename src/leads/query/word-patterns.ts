/*
 * What belongs to words, of folded text. Scripts that put no spaces between words are told from all others by
 * Unicode's script extensions, so that marks which several scripts share belong to each of theirs.
 */
const scripts = ['Han', 'Hira', 'Kana', 'Thai', 'Lao', 'Khmr', 'Mymr'];
const unspacedLetters = `[${scripts.map((script) => `\\p{scx=${script}}`).join('')}]`;
const wordCharacters = String.raw`[\p{L}\p{N}\p{M}]`;

const unspaced = `[${wordCharacters}&&${unspacedLetters}]`;
const spaced = `[${wordCharacters}--${unspacedLetters}]`;

/** Each word; in the group `unspaced` where it is of a script without spaces. Words end where such scripts begin. */
export const words = new RegExp(`(?<unspaced>${unspaced}+)|${spaced}+`, 'gv');

export const onlyUnspaced = new RegExp(`^${unspaced}+$`, 'v');
export const onlySpaced = new RegExp(`^${spaced}+$`, 'v');
export const onlyDividers = new RegExp(`^[^${wordCharacters}]+$`, 'v');

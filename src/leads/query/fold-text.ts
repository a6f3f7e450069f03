/**
 * Accents and vowel points on letters of any script, and the stroke that stretches Arabic words. Not the voicing marks
 * of kana, which make other letters.
 */
const accents = /[[[[\p{Script=Inherited}\p{Script=Hebrew}]&&\p{Mn}]\u0640]--[\u3099\u309A]]/gv;

/** Letters whose stroke or ligature Unicode does not decompose, and the final form of sigma. */
const plainForms: Record<string, string> = {
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ŧ: 't',
  ı: 'i',
  æ: 'ae',
  œ: 'oe',
  ß: 'ss',
  þ: 'th',
  ς: 'σ',
};
const plainFormsPattern = new RegExp(`[${Object.keys(plainForms).join('')}]`, 'gu');

/** Increase when `foldText` or `categoryKey` changes its result for any text. */
const foldingRules = 3;

/** The version of Unicode and of these rules, as `16.0 2`. Terms folded under another version may differ. */
export const foldingVersion = `${process.versions.unicode ?? '0'} ${foldingRules}`;

/**
 * Returns `text` without case, accents and compatibility forms (full width, ligatures, mathematical letters). All text
 * for an index is folded here and nowhere else, so an engine's own rules for accents have no effect.
 */
export const foldText = (text: string): string => (isAscii(text) ? text.toLowerCase() : foldAny(text));

// Control characters count too.
// oxlint-disable-next-line no-control-regex
export const isAscii = (text: string): boolean => /^[\0-\x7F]*$/.test(text);

const foldAny = (text: string): string =>
  text
    .normalize('NFKD')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKD')
    .replace(accents, '')
    .replace(plainFormsPattern, (letter) => plainForms[letter] ?? letter)
    .normalize('NFKC');

/**
 * Returns the identity of a profile: its username without case. Rows with equal keys are the same person, and the later
 * row replaces the earlier.
 */
export const usernameKey = (username: string): string => username.normalize('NFC').toLowerCase();

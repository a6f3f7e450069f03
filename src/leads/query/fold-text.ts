/**
 * Accents and vowel points that sit on letters of any script, and the stroke that stretches Arabic words; the voicing marks
 * of kana make other letters.
 */
const accents = /[[[[\p{Script=Inherited}\p{Script=Hebrew}]&&\p{Mn}]\u0640]--[\u3099\u309A]]/gv;

/** Letters whose stroke or ligature Unicode does not take apart, and the final form of sigma. */
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

/** Raised when `foldText` makes something else of any text. */
const foldingRules = 2;

/** The version of Unicode and of the rules here, as `16.0 2`: terms that were folded under another one may be others. */
export const foldingVersion = `${process.versions.unicode ?? '0'} ${foldingRules}`;

/** Whether `version` is one before the present `foldingVersion`. */
export const isEarlierFolding = (version: string): boolean => {
  const [unicode, rules] = numbersOf(version);
  const [presentUnicode, presentRules] = numbersOf(foldingVersion);
  return unicode < presentUnicode || (unicode === presentUnicode && rules < presentRules);
};

const numbersOf = (version: string): [unicode: number, rules: number] => {
  const [unicode = '0', rules = '1'] = version.split(' ');
  return [Number.parseFloat(unicode), Number.parseFloat(rules)];
};

/**
 * `text` without case, accents and compatibility forms (full width, ligatures, mathematical letters). Every
 * engine is fed text folded here and nothing folds it again, so that no engine's own idea of an accent counts.
 */
export const foldText = (text: string): string => (isAscii(text) ? text.toLowerCase() : foldAny(text));

// A control character is a character too.
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

import type { Lead } from '../../../src/leads/lead-source.ts';

/*
 * The terms of a search in their plainest form: whole texts are folded, then cut by one regular expression. The fast
 * version in src is held against this one.
 */

export interface PlainWord {
  text: string;
  isUnspaced: boolean;
}

const accents = /[[[[\p{Script=Inherited}\p{Script=Hebrew}]&&\p{Mn}]\u0640]--[\u3099\u309A]]/gv;
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

const plainFold = (text: string): string =>
  text
    .normalize('NFKD')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKD')
    .replace(accents, '')
    .replace(/./gsu, (letter) => plainForms[letter] ?? letter)
    .normalize('NFKC');

const words =
  /(?<unspaced>[[\p{L}\p{N}\p{M}]&&[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmr}\p{scx=Mymr}]]+)|[[\p{L}\p{N}\p{M}]--[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmr}\p{scx=Mymr}]]+/gv;

export const plainWords = (text: string): PlainWord[] =>
  Array.from(plainFold(text).matchAll(words), ({ 0: word, groups }) => ({
    text: word,
    isUnspaced: groups?.['unspaced'] !== undefined,
  }));

const cut = (word: string): string => Array.from(word).slice(0, 64).join('');
const pairs = (characters: string[]): string[] =>
  characters.slice(1).map((character, index) => `${characters[index]}${character}`);

const termsOf = (text: string): string[] =>
  plainWords(text).flatMap((word) => {
    const characters = Array.from(word.text);
    return word.isUnspaced ? [...characters, ...pairs(characters)] : [cut(word.text)];
  });

const dividers = /[^\p{L}\p{N}\p{M}]+/gu;
const humps =
  /(?<=\p{Ll}\p{M}*)(?=\p{Lu})|(?<=\p{Lu}\p{M}*)(?=\p{Lu}\p{M}*\p{Ll})|(?<=\p{N})(?=\p{L})|(?<=[\p{L}\p{M}])(?=\p{N})/gu;

/** The terms of a profile, sorted. */
export const plainLeadTerms = (lead: Lead): string[] => {
  const username = lead.username.slice(0, 2000).normalize('NFC');
  const fields = [
    username,
    username.replace(humps, ' '),
    plainFold(username).replace(dividers, ''),
    lead.full_name.slice(0, 2000),
    (lead.category ?? '').slice(0, 2000),
    (lead.bio ?? '').slice(0, 2000),
  ];
  return [...new Set(fields.flatMap(termsOf))].sort();
};

/** The terms of a query, in their order. */
export const plainQueryTerms = (query: string): string[] => {
  const found = plainWords(query.slice(0, 200));
  const first = [...new Set(found.map(({ text }) => text))].slice(0, 10);
  const terms = found.flatMap((word) => {
    if (!first.includes(word.text)) return [];
    const characters = Array.from(word.text);
    if (!word.isUnspaced) return [cut(word.text)];
    return characters.length === 1 ? characters : pairs(characters);
  });
  return [...new Set(terms)].slice(0, 24);
};

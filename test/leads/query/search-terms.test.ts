import { describe, expect, it } from 'vitest';
import { createReferenceSearch } from '../reference-search.ts';
import { queryProblem, queryTerms } from '../../../src/leads/query/search-terms.ts';
import { buildLead } from '../build-lead.ts';

const finds = (fields: Parameters<typeof buildLead>[0], query: string): boolean =>
  createReferenceSearch([buildLead(fields)])({ query, limit: 1 }).length === 1;

describe('a query', () => {
  it.each(['username', 'full_name', 'category', 'bio'] as const)('is searched in %s', (field) => {
    expect(finds({ [field]: 'pottery' }, 'pottery')).toBe(true);
  });

  it.each(['city', 'public_email', 'profile_pic_url'] as const)('is not searched in %s', (field) => {
    expect(finds({ [field]: 'pottery' }, 'pottery')).toBe(false);
  });

  it('matches beginnings of words from three characters on, but nothing inside words', () => {
    expect(finds({ bio: 'Home pottery' }, 'pot')).toBe(true);
    expect(finds({ bio: 'Home pottery' }, 'po')).toBe(false);
    expect(finds({ bio: 'Home pottery' }, 'ottery')).toBe(false);
  });

  it('matches whole words of one and two characters', () => {
    expect(finds({ bio: 'My AI and I' }, 'ai')).toBe(true);
    expect(finds({ bio: 'My AI and I' }, 'i')).toBe(true);
    expect(finds({ bio: 'Air' }, 'ai')).toBe(false);
  });

  it('needs all of its words, in any field and order', () => {
    const fields = { full_name: 'Mira Oakford', bio: 'yoga in Lyon' };
    expect(finds(fields, 'lyon mira')).toBe(true);
    expect(finds(fields, 'lyon mira surf')).toBe(false);
  });

  it.each([
    ['Café & Crème', 'cafe creme'],
    ['cafe creme', 'CAFÉ CRÈME'],
    ['Łódź, Tromsø', 'lodz tromso'],
    ['Straße', 'strasse'],
    ['İstanbul', 'istanbul'],
    ['ISTANBUL', 'ıstanbul'],
    ['Ταξίδια', 'ταξιδια'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['cafe\u0301', 'caf\u00E9'],
    ['ｆｉｔ', 'fit'],
    ['مَرحبا', 'مرحبا'],
  ])('ignores case and accents: %s is found by %s', (bio, query) => {
    expect(finds({ bio }, query)).toBe(true);
  });

  it('distinguishes letters that only look like accented ones', () => {
    expect(finds({ bio: 'ガム' }, 'カム')).toBe(false);
    expect(finds({ bio: 'मीठा' }, 'मठ')).toBe(false);
  });

  it.each(['john', 'doe', 'doe99', '99', 'johndoe', 'johndoe99', 'john.doe99', 'John_Doe99', '@john.doe99'])(
    'finds the username john.doe99 by %s',
    (query) => {
      expect(finds({ username: 'john.doe99' }, query)).toBe(true);
    },
  );

  it.each([
    ['FitnessGirl', 'girl'],
    ['HTMLCoach', 'coach'],
    ['fit4life', 'life'],
    ['éliseÉtoile', 'etoile'],
    ['fitnessgirl', 'FitnessGirl'],
  ])('splits usernames at digits and case changes: %s is found by %s', (username, query) => {
    expect(finds({ username }, query)).toBe(true);
  });

  it.each([
    ['ana.reyes', 'reyes', 'a dot'],
    ['ana_reyes', 'reyes', 'an underscore'],
    ['ana7reyes', 'reyes', 'a digit'],
    ['anaReyes', 'reyes', 'a change of case'],
    ['ana.reyes', 'anareyes', 'nothing, whole'],
    ['ana_reyes', 'anarey', 'nothing, by its beginning'],
    ['ana.reyes', 'rey', 'a dot, by the beginning of a part'],
  ])('finds the username %s by %s, split at %s', (username, query) => {
    expect(finds({ username }, query)).toBe(true);
  });

  it('finds no username by the inside of its parts', () => {
    expect(finds({ username: 'ana.reyes' }, 'eyes')).toBe(false);
    expect(finds({ username: 'ana.reyes' }, 'nareyes')).toBe(false);
    expect(finds({ username: 'ana.reyes' }, 'reyesana')).toBe(false);
  });

  it.each(['#fitness', '@fitness', 'fitness!', '"fitness"', "fitness's", '(fit)', 'FITNESS coach,'])(
    'is read as its words, whatever stands around them: %s',
    (query) => {
      expect(finds({ bio: "Fitness coach 's" }, query)).toBe(true);
    },
  );

  it('matches the beginnings of each of its words, not only of the last', () => {
    expect(finds({ bio: 'Vegan bakery in Porto' }, 'veg bak por')).toBe(true);
    expect(finds({ bio: 'Vegan bakery in Porto' }, 'veg ba por')).toBe(false);
  });

  it('splits no other field at case changes', () => {
    expect(finds({ bio: '#FitnessGirl' }, 'girl')).toBe(false);
    expect(finds({ bio: '#FitnessGirl' }, '#fitnessgirl')).toBe(true);
  });

  it('matches two or more neighbouring characters of scripts without spaces', () => {
    expect(finds({ bio: '美食旅行' }, '食旅')).toBe(true);
    expect(finds({ bio: '美食旅行' }, '旅')).toBe(true);
    expect(finds({ bio: '美食旅行' }, '美行')).toBe(false);
    expect(finds({ bio: 'iphone手機殼' }, '手機')).toBe(true);
    expect(finds({ bio: 'รักการเดินทาง' }, 'เดินทาง')).toBe(true);
  });

  it('treats emojis and punctuation as spaces', () => {
    expect(finds({ bio: 'yoga🔥surf' }, '🌊surf!')).toBe(true);
    expect(finds({ bio: 'yoga🔥surf' }, '🔥')).toBe(false);
    expect(finds({ bio: '"AND" * ^' }, '"*^')).toBe(false);
  });

  it('reports the problem if it cannot be searched as it stands', () => {
    expect(queryProblem('yoga')).toBeNull();
    expect(queryProblem(' 🔥 -- ')).toBe('no_words');
    expect(queryProblem('x'.repeat(201))).toBe('too_long');
    expect(queryProblem('a b c d e f g h i j k')).toBe('too_many_words');
    expect(queryProblem('a b c d e f g h i 東京タワー I j')).toBe('too_many_words');
    expect(queryProblem('a b c d e f g h i 東京タワー I')).toBeNull();
    const letters = Array.from({ length: 26 }, (_, place) => String.fromCodePoint(0x4e00 + place)).join('');
    expect(queryProblem(letters.slice(1))).toBeNull();
    expect(queryProblem(letters)).toBe('too_many_terms');
    expect(queryProblem(`${letters.slice(1)} a`)).toBe('too_many_terms');
    expect(queryProblem('yoga '.repeat(30).trim())).toBeNull();
  });

  it('counts three characters for a beginning after folding, as Unicode code points', () => {
    expect(finds({ bio: 'Straßen' }, 'ß')).toBe(false);
    expect(finds({ bio: 'ßüß' }, 'ßü')).toBe(true);
    expect(finds({ bio: '\u{10330}\u{10331}\u{10332}' }, '\u{10330}\u{10331}')).toBe(false);
    expect(finds({ bio: '\u{10330}\u{10331}\u{10332}\u{10333}' }, '\u{10330}\u{10331}\u{10332}')).toBe(true);
  });

  it('is compared in the first 64 characters of long words, and the first 2,000 characters of a field', () => {
    expect(finds({ bio: `${'x'.repeat(64)}abc` }, `${'x'.repeat(64)}xyz`)).toBe(true);
    expect(finds({ bio: `${'x'.repeat(63)}abc` }, `${'x'.repeat(63)}xyz`)).toBe(false);
    expect(finds({ bio: `${' '.repeat(1996)}yoga` }, 'yoga')).toBe(true);
    expect(finds({ bio: `${' '.repeat(1997)}yoga` }, 'yoga')).toBe(false);
  });

  it('is limited in words and length', () => {
    const letters = Array.from('abcdefghijklmnopqrstuvwxyz0123456789');
    expect(queryTerms(letters.join(' ')).map(({ text }) => text)).toEqual(letters.slice(0, 10));
    const pairs = Array.from({ length: 40 }, (_, place) => String.fromCodePoint(0x4e00 + place));
    expect(queryTerms(pairs.join(''))).toHaveLength(24);
    expect(queryTerms('x'.repeat(5000))).toEqual([{ text: 'x'.repeat(64), isPrefix: true }]);
  });
});

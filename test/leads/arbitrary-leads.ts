import * as fc from 'fast-check';
import type { Lead, LeadQuery } from '../../src/leads/lead-source.ts';
import { usernameKey } from '../../src/leads/query/fold-text.ts';
import { arbitraryCharacters } from './query/arbitrary-characters.ts';

/*
 * Profiles and queries out of few and awkward pieces, so that they meet often: words that differ in case, accents
 * and length, scripts without spaces, emojis, and what means something to SQL, to FTS5 or to the index itself.
 */
const words =
  'fit fitness FITNESS Fitnéss fitnessgirl café CAFE straße STRASSE John Doe JohnDoe iPhone HTMLCoach k2 99 2024 a ab ' +
  'abc I İstanbul ıstanbul ISTANBUL ΣΑΣ σας łódź Lodz œuvre ｆｕｌｌ ﬁt 𝐛𝐨𝐥𝐝 e\u0301té été 東京 東京都 京 タワー ガム カム 한국 한국어 ' +
  'ไทย ไท हिन्दी मीठा مرحبا مَرحبا שלום AND OR NOT NEAR and rowid words tokens xcous';
const symbols =
  '🔥 💪🏽 \u{F0001} \u{F1000} \u{100000} \uE000 \u200D \uFE0F \u0301 \0 \' " "" * ^ : - + ( ) { } # @ % _ . ; \\ a* fit:ness ?1';
const pieces = [...words.split(' '), ...symbols.split(' '), '"fit" *', 'x'.repeat(63), 'x'.repeat(70)];
const separators = ['', '', ' ', ' ', ' ', '.', '_', '-', '\n', '\t', '\u00A0', '、', '"', "'", '\0'];

export const arbitraryText = (maxPieces: number) =>
  fc.oneof(
    {
      weight: 9,
      arbitrary: fc
        .array(fc.tuple(fc.constantFrom(...pieces), fc.constantFrom(...separators)), { maxLength: maxPieces })
        .map((parts) => parts.flat().join('')),
    },
    { weight: 1, arbitrary: arbitraryCharacters({ maxLength: 30 }) },
  );

const followers = fc.oneof(
  fc.constantFrom(0, 1, 500, 500, 500, 501, 10_000, 2 ** 31 - 1),
  fc.integer({ min: 0, max: 2000 }),
);
const category = fc.constantFrom(
  'Beauty',
  'BEAUTY',
  'Beauty salon',
  'Health/beauty',
  'Café',
  'Cafe',
  'ﬁtness',
  'Straße',
);
const country = fc.constantFrom('US', 'us', 'BR', 'ID', 'İD', 'ſs', 'SS', 'U', 'USA', '');
const gender = fc.constantFrom('male' as const, 'female' as const);

/** Imports leave out this character. */
const username = arbitraryText(4).map((text) => text.replaceAll('\0', ''));

export const arbitraryLead: fc.Arbitrary<Lead> = fc.record(
  {
    username,
    full_name: arbitraryText(3),
    followers,
    following: fc.nat(),
    is_verified: fc.boolean(),
    is_business: fc.boolean(),
    category,
    bio: arbitraryText(8),
    public_email: fc.constant('someone@example.com'),
    media_count: fc.nat(),
    gender,
    profile_pic_url: fc.constant('https://example.com/a.jpg'),
    country,
    city: arbitraryText(1),
  },
  { requiredKeys: ['username', 'full_name', 'followers', 'following', 'is_verified', 'is_business'] },
);

/** Profiles of different people. */
export const arbitraryLeads: fc.Arbitrary<Lead[]> = fc.uniqueArray(arbitraryLead, {
  selector: ({ username }) => usernameKey(username),
  maxLength: 30,
});

/** Now and then; a search with every filter at once finds next to nothing. */
const seldom = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });

export const arbitraryQuery: fc.Arbitrary<LeadQuery> = fc.record({
  query: fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom(...words.split(' '), 'fi', '東', 'joh doe', '🔥 fit', 'x'.repeat(300)),
    },
    { weight: 1, arbitrary: arbitraryText(1) },
    { weight: 1, arbitrary: arbitraryText(3) },
    { weight: 2, arbitrary: fc.constant(undefined) },
  ),
  country: seldom(country),
  category: seldom(fc.oneof(category, fc.constantFrom('beauty', 'FITNESS', 'strasse', 'Music'))),
  gender: seldom(gender),
  minFollowers: seldom(fc.oneof(followers, fc.constant(1_000_000_000))),
  maxFollowers: seldom(fc.oneof(followers, fc.constant(Number.MAX_SAFE_INTEGER))),
  after: seldom(fc.record({ followers, username })),
  limit: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant(100)),
});

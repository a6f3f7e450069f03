import type { Lead } from '../lead-source.ts';
import { syntheticPictures } from './synthetic-mark.ts';
import { listTopics, type Topic, splitList } from './topics.ts';
import { foldText } from '../query/fold-text.ts';

/** Raise this with every change that makes other profiles from the same seed and number. */
export const generatorVersion = 2;

/**
 * Generates fictional profiles. The same `seed` and number give the same profiles. No real person is described: names are
 * made of syllables, email addresses are at example.com and example.org, and the address of each picture says that the
 * profile is synthetic, even out of its context.
 */
export function* generateLeads({ seed, profiles }: { seed: number; profiles: number }): Generator<Lead> {
  const world = createWorld(seed);
  for (let made = 0; made < profiles; made += 1) yield inventLead(world);
}

const createWorld = (seed: number) => {
  const random = createRandom(seed);
  return { random, names: inventNames(random), topics: listTopics(), taken: new Set<string>() };
};

const inventLead = ({ random, names, topics, taken }: ReturnType<typeof createWorld>): Lead => {
  const topic = random.pickSkewed(topics);
  const gender = random.chance(0.53) ? 'female' : 'male';
  const given = random.pickSkewed(names.given[gender]);
  const family = random.pickSkewed(names.family);
  const username = inventUsername({ given, family, word: random.pickSkewed(topic.words) }, { random, taken });
  const followers = inventFollowers(random);
  const isBusiness = random.chance(0.45);
  const email =
    isBusiness && random.chance(0.6)
      ? `${random.pick(['', 'hello.', 'collabs.'])}${username}@${random.pick(['example.com', 'example.org'])}`
      : undefined;
  const place = random.chance(0.9) ? random.pickSkewed(places) : undefined;
  const city = place !== undefined && random.chance(0.8) ? random.pickSkewed(place.cities) : undefined;
  const bio = random.chance(0.92) ? inventBio({ topic, place, city, email }, random) : '';
  return {
    username,
    full_name: random.chance(0.08)
      ? given
      : `${given} ${family}${random.chance(0.08) ? ` | ${topic.roles[0]}` : ''}`,
    followers,
    following: Math.floor(7500 ** random.fraction()),
    is_verified: random.chance(Math.min(0.9, followers / 2_000_000 + 0.003)),
    is_business: isBusiness,
    ...(isBusiness ? { category: topic.category } : {}),
    ...(bio === '' ? {} : { bio }),
    ...(email === undefined ? {} : { public_email: email }),
    media_count: Math.floor(6000 ** random.fraction()),
    ...(random.chance(0.82) ? { gender } : {}),
    profile_pic_url: `${syntheticPictures}${username}.jpg`,
    ...(place === undefined ? {} : { country: place.country }),
    ...(city === undefined ? {} : { city }),
  };
};

const minFollowers = 400;
const maxFollowers = 60_000_000;
/** The exponent of the distribution: of the profiles with at least n followers, three in five have at least 2n. */
const tail = 0.75;

/** Draws by Pareto's law between the two bounds. */
const inventFollowers = (random: Random): number => {
  const beyond = 1 - (minFollowers / maxFollowers) ** tail;
  return Math.floor(minFollowers / (1 - random.fraction() * beyond) ** (1 / tail));
};

const maxBioCharacters = 150;

const separators = ['\n', '\n', ' | ', ' • ', '. '] as const;

type BioParts = { topic: Topic; place: Place | undefined } & Record<'city' | 'email', string | undefined>;

/** Invents a few lines that people might write about themselves, at most 150 characters, the platform's limit. */
const inventBio = ({ topic, place, city, email }: BioParts, random: Random): string => {
  const { words, roles, emojis } = topic;
  const separator = random.pick(separators);
  const topicWords = [words, words, words].map((list) => random.pickSkewed(list));
  const [firstPhrase, ...phrases] = place?.phrases ?? [];
  const pieces = [
    random.chance(0.7) && `${random.pickSkewed(roles)}${random.chance(0.4) ? ` ${random.pick(emojis)}` : ''}`,
    random.chance(0.75) && [...new Set(topicWords)].join(', '),
    random.chance(0.35) && firstPhrase !== undefined && random.pick([firstPhrase, ...phrases]),
    random.chance(0.4) && city !== undefined && `${random.pick(['📍', 'Based in ', 'From '])}${city}`,
    random.chance(0.15) && `#${random.pickSkewed(words).replaceAll(' ', '')}`,
    random.chance(0.15) && email !== undefined && `📩 ${email}`,
  ];
  let bio = '';
  for (const piece of pieces) {
    if (piece === false) continue;
    const longer = bio === '' ? piece : `${bio}${separator}${piece}`;
    if (longer.length <= maxBioCharacters) bio = longer;
  }
  return bio;
};

const english =
  'Small joys, every day / Learning in public / Coffee first / Weekend explorer / Made with care';
const spanish = 'Amante del café y los viajes / Vida sana y feliz / Mamá de dos / Aquí comparto mi día a día';
const portuguese = 'Vida saudável / Apaixonada por viagens / Coração no sertão / Dicas de moda e decoração';
const french = 'Créatrice de contenu / Idées déco et recettes / La vie en été / Passionné de voyages';
const german = 'Glücklich draußen / Rezepte für jeden Tag / Schöne Dinge und gutes Essen / Grüße vom Balkon';
const italian = 'Cucina, caffè e città / Vita semplice / Bellezza ogni giorno';
const arabic = 'وصفات سهلة كل يوم / سفر وتصوير';

/** A country (ISO 3166 alpha-2), its cities, and lines that people there might write about themselves. */
type Place = ReturnType<typeof place>;

/** `phrases` are divided by slashes, because they hold commas. */
const place = (country: string, cities: string, phrases: string) => ({
  country,
  cities: splitList(cities),
  phrases: phrases.split(' / '),
});

/** The most frequent country first. */
const places: readonly [Place, ...Place[]] = [
  place('US', 'New York, Los Angeles, Chicago, Austin, Miami, Seattle, Denver, Atlanta, Portland', english),
  place('BR', 'São Paulo, Rio de Janeiro, Belo Horizonte, Curitiba, Florianópolis, Brasília', portuguese),
  place('IN', 'Mumbai, Delhi, Bengaluru, Pune, Chennai, Jaipur', english),
  place('GB', 'London, Manchester, Bristol, Leeds, Glasgow, Brighton', english),
  place('ID', 'Jakarta, Bandung, Surabaya, Denpasar', 'Suka jalan dan makan'),
  place('MX', 'Ciudad de México, Guadalajara, Monterrey, Mérida, Puebla', spanish),
  place(
    'TR',
    'İstanbul, Ankara, İzmir, Antalya, Bursa',
    'Güzellik ve moda önerileri / Işıkla yazıyorum / Çay, kedi, kitap',
  ),
  place('DE', 'Berlin, Hamburg, München, Köln, Leipzig, Düsseldorf', german),
  place('FR', 'Paris, Lyon, Marseille, Bordeaux, Lille, Nîmes', french),
  place('IT', 'Milano, Roma, Torino, Bologna, Napoli, Firenze', italian),
  place('ES', 'Madrid, Barcelona, Valencia, Sevilla, Málaga, A Coruña', spanish),
  place(
    'JP',
    'Tokyo, Osaka, Kyoto, Fukuoka, Sapporo',
    '東京の美味しいもの / 旅行とカメラ / 毎日のお弁当 / ていねいな暮らし',
  ),
  place('CA', 'Toronto, Vancouver, Montréal, Calgary, Québec', english),
  place('AU', 'Sydney, Melbourne, Brisbane, Perth, Hobart', english),
  place('KR', 'Seoul, Busan, Incheon, Jeju', '서울 맛집 기록 / 여행과 일상 / 매일 운동하는 사람'),
  place('TH', 'Bangkok, Chiang Mai, Phuket', 'อาหารไทยทุกวัน / รักการเดินทาง'),
  place('SA', 'Riyadh, Jeddah, Dammam', arabic),
  place('PL', 'Warszawa, Kraków, Łódź, Wrocław, Gdańsk, Poznań', 'Życie w mieście / Kawa, książki i góry'),
  place('GR', 'Athens, Thessaloniki, Patras', 'Ταξίδια και φαγητό'),
];

/** Parts of invented names, the most frequent first. No real person is meant. */
type Names = readonly [string, ...string[]];

const givenStarts =
  'Am Bel Cor Dav El Fen Gal Hal Il Jor Kel Lum Mar Nor Ol Per Quil Ros Sel Tam Ul Ven Wil Xan Yol Zel';
const femaleEnds = 'ina essa ara ía elle une ora isa ené anta';
const maleEnds = 'an or eko ard ín us elo omir andré ett';
const familyStarts =
  'Alder Bram Crest Dun Elm Fair Glen Hollow Iron Jun Kest Lark Mor Nettle Oak Pell Quarr Rush Silver Thorn Umber Vale ' +
  'Wren Yarrow Zeph';
const familyEnds =
  'well wick mere stone brook dale field by ford holt moor shaw ton wood ridge ström berg vik ović ini éz aki ão eau owski';

/** Invents the names of one data set. `random` decides their order. */
const inventNames = (random: Random) => ({
  given: {
    female: shuffled(combined(givenStarts, femaleEnds), random),
    male: shuffled(combined(givenStarts, maleEnds), random),
  },
  family: shuffled(combined(familyStarts, familyEnds), random),
});

const combined = (starts: string, ends: string): string[] =>
  starts.split(' ').flatMap((start) => ends.split(' ').map((end) => `${start}${end}`));

const shuffled = (list: string[], random: Random): Names => {
  const keyed = list.map((name) => ({ name, key: random.fraction() })).sort((a, b) => a.key - b.key);
  const [first = '', ...rest] = keyed.map(({ name }) => name);
  return [first, ...rest];
};

const maxBaseCharacters = 24;

type UsernameParts = Record<'given' | 'family' | 'word', string>;

/** Invents a handle of lower-case letters, digits, dots and underscores that is not in `taken`, and adds it there. */
const inventUsername = (
  parts: UsernameParts,
  { random, taken }: { random: Random; taken: Set<string> },
): string => {
  const letters = foldText(random.pick(shapes)(parts)).replace(/[^a-z._]/g, '');
  const base = letters.slice(0, maxBaseCharacters).replace(/[._]+$/, '');
  let username = random.chance(0.2) ? `${base}${random.below(100)}` : base;
  for (let digits = 2; taken.has(username); digits += 1)
    username = `${base}${random.below(10 ** Math.min(digits, 9))}`;
  taken.add(username);
  return username;
};

type Shape = (parts: UsernameParts) => string;

const shapes: readonly [Shape, ...Shape[]] = [
  ({ given, family }) => `${given}.${family}`,
  ({ given, family }) => `${given}_${family}`,
  ({ given, family }) => `${given}${family}`,
  ({ given, family }) => `${given}.${family.charAt(0)}`,
  ({ given, word }) => `${given}.${word}`,
  ({ given, word }) => `${word}_with_${given}`,
  ({ family, word }) => `${family}_${word}`,
  ({ given, family, word }) => `${given}${family.charAt(0)}_${word}`,
  ({ family, word }) => `${family}.${word}`,
];

type Random = ReturnType<typeof createRandom>;

/** A stream of pseudo-random numbers, not for secrets: Tommy Ettinger's Mulberry32, a counter whose bits are mixed. */
const createRandom = (seed: number) => {
  let counter = seed;
  /** 0 to below 1. */
  const fraction = (): number => {
    counter = (counter + 0x6d2b79f5) | 0;
    let mixed = Math.imul(counter ^ (counter >>> 15), counter | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /** 0 to `count` - 1, evenly distributed. */
  const below = (count: number): number => Math.floor(fraction() * count);
  return {
    fraction,
    below,
    chance: (probability: number): boolean => fraction() < probability,
    /** An element of a list that is not empty, evenly distributed. */
    pick: <T>(list: readonly [T, ...T[]]): T => list[below(list.length)] ?? list[0],
    /** An element of a list that is not empty, by Zipf's law: the nth is drawn in proportion to 1/n. */
    pickSkewed: <T>(list: readonly [T, ...T[]]): T =>
      list[Math.floor((list.length + 1) ** fraction()) - 1] ?? list[0],
  };
};

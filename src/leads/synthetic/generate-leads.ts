import type { Lead } from '../lead-source.ts';
import { inventNames, inventUsername } from './invent-names.ts';
import { places, type Place } from './places.ts';
import { createRandom, type Random } from './random.ts';
import { syntheticPictures } from './synthetic-mark.ts';
import { listTopics, type Topic } from './topics.ts';

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

/** Invents a few lines that people might write about themselves, at most 150 characters, the platform's limit. */
const inventBio = (
  {
    topic,
    place,
    city,
    email,
  }: { topic: Topic; place: Place | undefined } & Record<'city' | 'email', string | undefined>,
  random: Random,
): string => {
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

import type { Lead } from '../lead-source.ts';
import { inventBio } from './invent-bio.ts';
import { inventNames, inventUsername } from './invent-names.ts';
import { places } from './places.ts';
import { createRandom, type Random } from './random.ts';
import { syntheticPictures } from './synthetic-mark.ts';
import { listTopics } from './topics.ts';

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

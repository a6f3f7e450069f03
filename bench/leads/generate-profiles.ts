import type { Lead } from '../../src/leads/lead-source.ts';
import { createWorld, type Country, type World } from './world/create-world.ts';
import { createDraws, type Draws } from './world/draws.ts';
import { inventBio } from './world/invent-bio.ts';
import { inventUsername } from './world/invent-username.ts';
import { maxProfiles, shuffleIndex } from './world/syllables.ts';

/** Raised with every change that makes other profiles out of the same seed. */
export const generatorVersion = 1;

/** The made-up people that a seed decides. Nobody real is described, and addresses lie at example.com. */
export interface Profiles {
  readonly world: World;
  /**
   * The profile with this index, from 0 to `maxProfiles` - 1: of the seed and the index alone, so that any part of
   * a set can be made anywhere, without the rest. Usernames differ. About 3 microseconds.
   */
  profileAt(index: number): Lead;
}

export const createProfiles = (seed: number): Profiles => {
  const world = createWorld(seed);
  const draws = createDraws(seed);
  return {
    world,
    profileAt: (index) => {
      if (!Number.isInteger(index) || index < 0 || index >= maxProfiles)
        throw new RangeError(`A profile's index is 0 to ${maxProfiles - 1}, not ${index}.`);
      draws.restart(index);
      return inventProfile({ world, draws, number: shuffleIndex(index, seed) });
    },
  };
};

/** The first `count` profiles, made one after the other. */
export function* firstProfiles({ profileAt }: Profiles, count: number): Generator<Lead> {
  for (let index = 0; index < count; index += 1) yield profileAt(index);
}

const inventProfile = ({ world, draws, number }: { world: World; draws: Draws; number: number }): Lead => {
  const isFemale = draws.chance(0.53);
  const names = isFemale ? world.given.female : world.given.male;
  const given = listed(names, draws);
  const family = listed(world.family, draws);
  // Women and men prefer some categories to others: the same ranks, counted from another place.
  const preferred = (draws.rank(world.categories.length) + (isFemale ? 0 : 4)) % world.categories.length;
  const topic = world.categories[preferred] ?? { name: '', words: [] };
  const place = draws.chance(0.92) ? world.countries[draws.rank(world.countries.length)] : undefined;
  const city = place !== undefined && draws.chance(0.6) ? listed(place.cities, draws) : undefined;
  const followers = inventFollowers(draws);
  const bio = inventBio({ followers, categoryWords: topic.words, country: place, city }, world, draws);
  const username = inventUsername({ given, family, word: topic.words[0] ?? 'studio', number }, draws);
  const isBusiness = draws.chance(0.6);

  const lead: Lead = {
    username,
    full_name: inventFullName({ given, family, topic: topic.name, place }, draws),
    followers,
    following: Math.floor(7500 ** draws.fraction()),
    is_verified: draws.chance(Math.min(0.9, followers / 2_000_000 + 0.002)),
    is_business: isBusiness,
  };
  if (isBusiness) lead.category = topic.name;
  if (bio !== '') lead.bio = bio;
  if (draws.chance(0.3)) lead.public_email = `${username}@example.com`;
  if (draws.chance(0.95)) lead.media_count = Math.floor(6000 ** draws.fraction());
  if (draws.chance(0.8)) lead.gender = isFemale ? 'female' : 'male';
  if (draws.chance(0.9)) lead.profile_pic_url = `https://example.com/pictures/${username}.jpg`;
  if (place !== undefined) lead.country = place.code;
  if (city !== undefined) lead.city = city;
  return lead;
};

export const leastUsualFollowers = 150;
const maxFollowers = 600_000_000;
/** The exponent of the distribution: of those with at least n followers, three in five have at least 2n. */
const tail = 0.75;

/** Pareto's law between the two bounds, a few below them, and a few round numbers that very many share. */
const inventFollowers = (draws: Draws): number => {
  if (draws.chance(0.04)) return draws.below(leastUsualFollowers);
  const beyond = 1 - (leastUsualFollowers / maxFollowers) ** tail;
  const followers = Math.floor(leastUsualFollowers / (1 - draws.fraction() * beyond) ** (1 / tail));
  if (!draws.chance(0.05)) return followers;
  const unit = 10 ** Math.floor(Math.log10(followers));
  return Math.floor(followers / unit) * unit;
};

interface FullNameInput {
  given: string;
  family: string;
  topic: string;
  place: Country | undefined;
}

const inventFullName = ({ given, family, topic, place }: FullNameInput, draws: Draws): string => {
  if (place?.script !== undefined && draws.chance(0.3)) return listed(place.script.words, draws);
  const style = draws.fraction();
  if (style < 0.08) return given;
  if (style < 0.14) return `${given} ${family} | ${topic}`;
  return style < 0.15 ? mathematical(`${given} ${family}`) : `${given} ${family}`;
};

/** Bold letters of Unicode's mathematical alphabet, as people decorate their names with. */
const mathematical = (name: string): string =>
  name.replace(/[a-z]/gi, (letter) => {
    const isSmall = letter >= 'a';
    return String.fromCodePoint((isSmall ? 0x1d41a - 97 : 0x1d400 - 65) + letter.charCodeAt(0));
  });

const listed = (list: readonly string[], draws: Draws): string => list[draws.rank(list.length)] ?? '';

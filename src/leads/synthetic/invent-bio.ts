import type { NameLists } from './invent-names.ts';
import type { Place } from './places.ts';
import type { Random } from './random.ts';
import type { Topic } from './topics.ts';

const maxBioCharacters = 150;

export interface BioInput {
  topic: Topic;
  place: Place | undefined;
  city: string | undefined;
  email: string | undefined;
  commonWords: readonly [string, ...string[]];
  brands: NameLists['brands'];
}

/** Invents a few lines that people might write about themselves, at most 150 characters, the platform's limit. */
export const inventBio = (input: BioInput, random: Random): string => {
  const separator = random.pick(separators);
  const pieces = pieceMakers
    .filter(({ chance }) => random.chance(chance))
    .map(({ make }) => make(input, random))
    .filter((piece) => piece !== null);
  let bio = '';
  for (const piece of pieces) {
    const longer = bio === '' ? piece : `${bio}${separator}${piece}`;
    if (longer.length <= maxBioCharacters) bio = longer;
  }
  return bio;
};

const separators = ['\n', '\n', ' | ', ' • ', '. ', ' · '] as const;

type MakePiece = (input: BioInput, random: Random) => string | null;

const role: MakePiece = ({ topic }, random) => {
  const emoji = random.chance(0.4) ? ` ${random.pick(topic.emojis)}` : '';
  return `${random.pickSkewed(topic.roles)}${emoji}`;
};

const topicWords: MakePiece = ({ topic, commonWords }, random) => {
  const words = [topic.words, topic.words, random.chance(0.5) ? topic.words : commonWords];
  return [...new Set(words.map((list) => random.pickSkewed(list)))].join(', ');
};

const commonWord: MakePiece = ({ commonWords }, random) =>
  `${random.pickSkewed(commonWords)} & ${random.pickSkewed(commonWords)}`;

const whereabouts: MakePiece = ({ city }, random) =>
  city === undefined ? null : `${random.pick(['📍', 'Based in ', 'From '])}${city}`;

const phrase: MakePiece = ({ place }, random) => {
  const [first, ...rest] = place?.phrases ?? [];
  return first === undefined ? null : random.pick([first, ...rest]);
};

const brand: MakePiece = ({ brands }, random) =>
  `${random.pick(['Founder of ', 'Editor at ', 'Team ', '@'])}${random.pickSkewed(brands)}`;

const hashtag: MakePiece = ({ topic }, random) => `#${random.pickSkewed(topic.words).replaceAll(' ', '')}`;

const contact: MakePiece = ({ email }) => (email === undefined ? null : `📩 ${email}`);

const emojis: MakePiece = ({ topic }, random) => `${random.pick(topic.emojis)}${random.pick(topic.emojis)}`;

const pieceMakers: readonly { chance: number; make: MakePiece }[] = [
  { chance: 0.7, make: role },
  { chance: 0.75, make: topicWords },
  { chance: 0.35, make: phrase },
  { chance: 0.4, make: commonWord },
  { chance: 0.4, make: whereabouts },
  { chance: 0.35, make: brand },
  { chance: 0.15, make: hashtag },
  { chance: 0.15, make: contact },
  { chance: 0.2, make: emojis },
];

import type { Place } from './places.ts';
import type { Random } from './random.ts';
import type { Topic } from './topics.ts';

const maxBioCharacters = 150;

const separators = ['\n', '\n', ' | ', ' • ', '. '] as const;

/** Invents a few lines that people might write about themselves, at most 150 characters, the platform's limit. */
export const inventBio = (
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

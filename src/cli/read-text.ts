import { InvalidArgumentError } from 'commander';
import { isUuid } from '../kit/ids.ts';

/** Reads words for people: on one line, not blank, trimmed. Throws commander's InvalidArgumentError. */
export const readText =
  (maxCharacters: number) =>
  (text: string): string => {
    const trimmed = text.trim();
    if (trimmed === '') throw new InvalidArgumentError('It must not be empty.');
    if (/\p{Cc}/u.test(trimmed)) throw new InvalidArgumentError('It must be one line of plain text.');
    if (trimmed.length > maxCharacters)
      throw new InvalidArgumentError(`It must have at most ${maxCharacters} characters.`);
    return trimmed;
  };

/** Reads a UUID, in either case. Throws InvalidArgumentError. */
export const readUuid = (text: string): string => {
  const id = text.toLowerCase();
  if (!isUuid(id)) throw new InvalidArgumentError('Write a UUID, as "uuidgen" makes them.');
  return id;
};

/** Reads a whole number from 1 to `maximum`. Throws InvalidArgumentError. */
export const readCount =
  (maximum: number) =>
  (text: string): number => {
    const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (count < 1 || count > maximum)
      throw new InvalidArgumentError(`Write a whole number from 1 to ${maximum}.`);
    return count;
  };

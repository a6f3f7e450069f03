import { InvalidArgumentError } from 'commander';
import { isUuid } from '../kit/ids.ts';
import { formatUsd, parseUsd, type Nano } from '../kit/money.ts';
import { maxEntryAmount } from '../ledger/entries.ts';

/* Readers of arguments. Each throws commander's InvalidArgumentError, which describes the expected form. */

/** Reads one line of text and trims it. It must not be blank. */
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

/** Reads a UUID in either case. */
export const readUuid = (text: string): string => {
  const id = text.toLowerCase();
  if (!isUuid(id)) throw new InvalidArgumentError('Write a UUID, as "uuidgen" makes them.');
  return id;
};

/** Reads a whole number from 1 to `maximum`. */
export const readCount =
  (maximum: number) =>
  (text: string): number => {
    const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (count < 1 || count > maximum)
      throw new InvalidArgumentError(`Write a whole number from 1 to ${maximum}.`);
    return count;
  };

const form = 'Write US dollars with a point and at most nine decimals, such as 12.50';
export const signedForm = `${form} or -12.50.`;

/** Reads an amount above zero. */
export const readAmount = (text: string): Nano => {
  const amount = readDecimal(text, `${form}.`);
  if (amount <= 0n) throw new InvalidArgumentError('The amount must be above zero.');
  return amount;
};

/** Reads an amount with an optional sign, such as `-5.00`, `5.00` or `+5.00`; not zero. */
export const readSignedAmount = (text: string): Nano => {
  const amount = readDecimal(text.replace(/^\+(?=\d)/, ''), signedForm);
  if (amount === 0n) throw new InvalidArgumentError('An adjustment of zero changes nothing.');
  return amount;
};

const readDecimal = (text: string, expected: string): Nano => {
  let amount: Nano;
  try {
    amount = parseUsd(text);
  } catch (error) {
    if (error instanceof RangeError) throw new InvalidArgumentError(expected);
    throw error;
  }
  if (amount > maxEntryAmount || amount < -maxEntryAmount)
    throw new InvalidArgumentError(`One entry moves at most ${formatUsd(maxEntryAmount)} USD.`);
  return amount;
};

import { InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import { lineField, positiveAmount, signedAmount, uuidField } from '../operator/fields.ts';

/* Readers of arguments. Each throws commander's InvalidArgumentError, which describes the expected form. */

/** Reads a field of an operation. */
export const readField =
  <T>(field: z.ZodType<T, string>) =>
  (text: string): T => {
    const { success, data, error } = field.safeParse(text);
    if (success) return data;
    throw new InvalidArgumentError(`It ${error.issues[0]?.message ?? 'has a wrong form'}.`);
  };

/** Reads one line of text and trims it. It must not be blank. */
export const readText = (maxCharacters: number) => readField(lineField(maxCharacters));

/** Reads a UUID in either case. */
export const readUuid = readField(uuidField);

/** Reads an amount above zero. */
export const readAmount = readField(positiveAmount);

/** Reads an amount with an optional sign, such as `-5.00`, `5.00` or `+5.00`; not zero. */
export const readSignedAmount = readField(signedAmount);

/** Reads a whole number from 1 to `maximum`. */
export const readCount =
  (maximum: number) =>
  (text: string): number => {
    const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (count < 1 || count > maximum)
      throw new InvalidArgumentError(`Write a whole number from 1 to ${maximum}.`);
    return count;
  };

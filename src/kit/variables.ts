import { z } from 'zod';

/** The values of a table of environment variables, such as `storeVariables`. */
export type VariableValues<Table extends z.ZodRawShape> = { [Name in keyof Table]: z.output<Table[Name]> };

/** A variable that holds a whole number. */
export const wholeNumber = (minimum: number, maximum: number, initial: number) =>
  z
    .string()
    .refine(
      (text) => /^\d{1,15}$/.test(text) && Number(text) >= minimum && Number(text) <= maximum,
      `must be a whole number from ${minimum} to ${maximum}`,
    )
    .transform(Number)
    .prefault(String(initial));

/** A variable that holds one of a few words. */
export const oneOf = <const Words extends readonly string[]>(...words: Words) =>
  z.enum(words, `must be ${new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(words)}`);

/** A variable that is switched by one of two words. */
export const toggle = (on: string, off: string, initial: string) =>
  oneOf(on, off)
    .transform((text) => text === on)
    .prefault(initial);

/** A variable that holds several texts, divided by commas. */
export const commaList = z.string().transform((text) => text.split(',').map((part) => part.trim()));

/** A variable that holds the address of a PostgreSQL database. */
export const postgresUrl = z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' });

import { z } from 'zod';
import { parseUsd } from './money.ts';

/** The values of a table of environment variables, such as `storeVariables`. */
export type VariableValues<Table extends z.ZodRawShape> = { [Name in keyof Table]: z.output<Table[Name]> };

export const wholeNumber = (minimum: number, maximum: number, initial: number) =>
  z
    .string()
    .refine(
      (text) => /^\d{1,15}$/.test(text) && Number(text) >= minimum && Number(text) <= maximum,
      `must be a whole number from ${minimum} to ${maximum}`,
    )
    .transform(Number)
    .prefault(String(initial));

export const oneOf = <const Words extends readonly string[]>(...words: Words) =>
  z.enum(words, `must be ${new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(words)}`);

export const toggle = (on: string, off: string, initial: string) =>
  oneOf(on, off)
    .transform((text) => text === on)
    .prefault(initial);

export const commaList = z.string().transform((text) => text.split(',').map((part) => part.trim()));

/** Declares a setting, or a part of one, as secret. Of an address (`z.url`) operators see its scheme and host. */
export const secret = <Schema extends z.ZodType>(schema: Schema): Schema => schema.meta({ writeOnly: true });

export const postgresUrl = secret(z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' }));

export const withoutTrailingSlash = (url: string): string => url.replace(/\/+$/, '');

export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' });

/** A node's address. Its path or query may contain a secret. `fetch` accepts no user name and password. */
export const nodeUrl = secret(
  httpUrl.refine((url) => {
    const { username, password } = new URL(url);
    return username === '' && password === '';
  }, 'must have no user and password; put the key of the node into its path or query'),
);

/** An address that everybody may see. */
export const plainUrl = httpUrl
  .refine((url) => !/[?#@]/.test(url), 'must have no credentials, query or fragment')
  .transform(withoutTrailingSlash);

/** An amount as people write it, as text or as a number, which becomes its text. */
export const amountText = z.union([z.string(), z.number()]).transform(String);

/** A decimal that `read` makes a value of. `read` throws on another form. */
export const decimal = <T>(read: (text: string) => T) =>
  amountText.transform((text, context) => {
    try {
      return read(text);
    } catch (error) {
      context.addIssue(error instanceof Error ? error.message : 'is not a decimal');
      return z.NEVER;
    }
  });

/** An amount in USD, not below zero. */
export const usdAmount = decimal(parseUsd).pipe(z.bigint().min(0n));

export const jsonPointer = z
  .string()
  .max(500)
  .regex(/^(?:\/(?:[^~/]|~[01])*)*$/, 'must be a JSON pointer, such as /data/items');

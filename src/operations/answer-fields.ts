import { z } from 'zod';
import { isoOrNull, toIso } from '../kit/clock.ts';
import { customerErrors } from '../kit/errors.ts';
import { formatUsd, type Nano } from '../kit/money.ts';
import { forRest, unlisted } from './schema-marks.ts';

export const time = forRest(z.string(), { format: 'date-time' });

export const usd = forRest(z.string(), { pattern: String.raw`^-?\d+\.\d{2,}$` });

export const count = forRest(z.int(), { minimum: 0 });

type Having<Name extends string, Value> = Readonly<Record<Name, Value>>;

/** Members of views (view.ts) that show the member `name` of the source. */
export const timeOf = <Name extends string>(name: Name, example: string) =>
  [time, (source: Having<Name, number>) => toIso(source[name]), example] as const;

export const timeOrNullOf = <Name extends string>(name: Name, example: string | null) =>
  [time.nullable(), (source: Having<Name, number | null>) => isoOrNull(source[name]), example] as const;

export const usdOf = <Name extends string>(name: Name, example: string) =>
  [usd, (source: Having<Name, Nano>) => formatUsd(source[name]), example] as const;

export const usdOrNull = (amount: Nano | null): string | null => (amount === null ? null : formatUsd(amount));

export const usdOrNullOf = <Name extends string>(name: Name, example: string | null) =>
  [usd.nullable(), (source: Having<Name, Nano | null>) => usdOrNull(source[name]), example] as const;

/** Makes the schema of an error with one of these codes. */
export const envelopeOf = (errors: Readonly<Record<string, readonly [status: number, type: string]>>) =>
  z
    .looseObject({
      type: forRest(z.string(), { enum: [...new Set(Object.values(errors).map(([, type]) => type))] }),
      code: forRest(z.string(), { enum: Object.keys(errors) }),
      message: z.string().describe('Says what to do. Fixed text, but for refusals by policy.'),
      ...unlisted({
        param: z
          .string()
          .nullish()
          .describe('The offending field; one within others as `messages.0.content`.'),
      }),
    })
    .describe('What went wrong, and what to do.');

/** The error of a refusal or of a failed job. */
export const errorEnvelope = envelopeOf(customerErrors);

/** `metadata` of what a sandbox made. */
export const sandboxMark = unlisted({
  metadata: z
    .looseObject({ sandbox: z.literal(true) })
    .optional()
    .describe('There only when a sandbox made the result, with no real model behind it.'),
});

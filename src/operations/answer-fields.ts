import { z } from 'zod';
import { customerErrors } from '../kit/errors.ts';
import { forRest, unlisted } from './schema-marks.ts';

export const time = forRest(z.string(), { format: 'date-time' });

export const usd = forRest(z.string(), { pattern: String.raw`^-?\d+\.\d{2,}$` });

export const count = forRest(z.int(), { minimum: 0 });

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

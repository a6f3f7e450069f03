import { z } from 'zod';

const dateTime = z.iso.datetime({ offset: true });
const date = z.iso.date();

/**
 * A point in time as a parameter, read into epoch milliseconds: ISO 8601 with a zone, or a date for its midnight in UTC.
 * A `+` that was not percent-encoded in a query arrives as a space, and is read as `+`.
 */
export const instant = z
  .string()
  .max(64)
  .transform((text, context) => {
    const written = text.replace(/(?<=T.*) (?=\d{2}:\d{2}$)/, '+');
    const isInstant = dateTime.safeParse(written).success || date.safeParse(written).success;
    if (isInstant) return Date.parse(written);
    context.addIssue({
      code: 'custom',
      message: 'must be an ISO 8601 date-time with its zone, such as 2026-01-31T12:00:00Z',
    });
    return z.NEVER;
  })
  .meta({ format: 'date-time' });

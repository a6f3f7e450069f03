import { z } from 'zod';

const dateTime = z.iso.datetime({ offset: true });
const date = z.iso.date();

/**
 * A point in time as a parameter: ISO 8601 with a zone, or a date alone for its midnight in UTC; read into epoch
 * milliseconds. A `+` that nobody percent-encoded in a query arrives as a space, and is taken for what it was.
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

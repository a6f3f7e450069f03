import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import { like } from '../view.ts';

const msPerDay = 86_400_000;

/** Whole days in UTC. */
export interface Days {
  /** Epoch milliseconds, inclusive. */
  from: number;
  /** Epoch milliseconds, exclusive. */
  to: number;
}

/** `2026-11-21` */
export const toDay = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 10);

/** Reads the beginning of a day in UTC, in epoch milliseconds. */
const dayField = z
  .string()
  .max(10)
  .transform((text, context): number => {
    const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
    // Date.parse takes 30 February for a day of March.
    if (!Number.isNaN(at) && toDay(at) === text) return at;
    context.addIssue({ code: 'custom', message: 'must be a day, such as 2026-11-21' });
    return z.NEVER;
  });

export const dayFields = {
  from: dayField
    .optional()
    .describe('The first day, in UTC. By default the first of the month of the last day.'),
  to: dayField.optional().describe('The last day, in UTC. By default today.'),
};

/** The days of an answer. */
export const shownDays = { from: like(z.string(), '2026-11-01'), to: like(z.string(), '2026-11-30') };

/** Throws AppError if the last day is before the first. */
export const toDays = (
  { from, to }: { from?: number | undefined; to?: number | undefined },
  now: number,
): Days => {
  const last = to ?? Math.max(now, from ?? now);
  const first = from ?? Date.parse(`${toDay(last).slice(0, 7)}-01T00:00:00Z`);
  const end = Date.parse(`${toDay(last)}T00:00:00Z`) + msPerDay;
  if (first >= end)
    throw new AppError('invalid_parameter', 'The last day is before the first.', { param: 'to' });
  return { from: first, to: end };
};

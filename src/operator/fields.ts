import { z } from 'zod';
import { maxEntryAmount } from '../accounts/ledger/entries.ts';
import { wrongField } from '../kit/errors.ts';
import { isUuid } from '../kit/ids.ts';
import { formatUsd, parseUsd, type Nano } from '../kit/money.ts';
import { idField } from '../operations/id-field.ts';
import { like } from '../operations/view.ts';

export const exampleAccountId = '0b9f3c1e-5d0a-4c59-9a61-2f6f0f5f7d11';

export const accountIdField = idField.describe('The id of the account.');

export const limitField = (maximum: number, usual: number) => {
  const form = `must be a whole number from 1 to ${maximum}`;
  return z.int(form).min(1, form).max(maximum, form).default(usual).describe('How many items at most.');
};

/** The id of the last item of the page before. `noun` names it. */
export const pageField = (noun: string) =>
  idField.optional().describe(`The id of the last ${noun} of the page before.`);

/** One line of text, without spaces at its ends. */
export const lineField = (maxCharacters: number) =>
  z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(maxCharacters, `must have at most ${maxCharacters} characters`)
    .regex(/^\P{Cc}*$/u, 'must be one line of plain text');

/** A text that `read` turns into a value, or for which it returns `refuse(problem)`, which follows the field's name. */
export const readField = <T>(
  maxCharacters: number,
  read: (text: string, refuse: (problem: string) => never) => T,
) =>
  z
    .string()
    .max(maxCharacters)
    .transform((text, context): T =>
      read(text, (problem) => {
        context.addIssue(problem);
        return z.NEVER;
      }),
    );

/** A UUID in either case. */
export const uuidField = z
  .string()
  .max(36)
  .transform((text) => text.toLowerCase())
  .refine(isUuid, 'must be a UUID');

/** An amount in USD, above zero unless it has a sign. */
const amountField = ({ isSigned }: { isSigned: boolean }) =>
  readField(40, (text, refuse): Nano => {
    const amount = readUsd(text);
    if (amount === null)
      return refuse('must be US dollars with a point and at most nine decimals, such as 12.50');
    if (amount > maxEntryAmount || amount < -maxEntryAmount)
      return refuse(`must be at most ${formatUsd(maxEntryAmount)} USD in one entry`);
    if (isSigned && amount === 0n) return refuse('must not be zero: that changes nothing');
    return isSigned || amount > 0n ? amount : refuse('must be above zero');
  });

export const positiveAmount = amountField({ isSigned: false }).describe('US dollars, such as "12.50".');

export const signedAmount = amountField({ isSigned: true }).describe(
  'US dollars, such as "12.50" or "-12.50".',
);

const readUsd = (text: string): Nano | null => {
  try {
    return parseUsd(text.replace(/^\+(?=\d)/, ''));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
};

export const msPerDay = 86_400_000;

/** Whole days in UTC. */
export interface Days {
  /** Epoch milliseconds, inclusive. */
  from: number;
  /** Epoch milliseconds, exclusive. */
  to: number;
}

/** `2026-11-21` */
const toDay = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 10);

/** Reads the beginning of a day in UTC, in epoch milliseconds. */
const dayField = readField(10, (text, refuse) => {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // Date.parse takes 30 February for a day of March.
  return !Number.isNaN(at) && toDay(at) === text ? at : refuse('must be a day, such as 2026-11-21');
});

export const dayFields = {
  from: dayField
    .optional()
    .describe('The first day, in UTC. By default the first of the month of the last day.'),
  to: dayField.optional().describe('The last day, in UTC. By default today.'),
};

export const shownDays = { from: like(z.string(), '2026-11-01'), to: like(z.string(), '2026-11-30') };

/** Returns the first and the last day, as answers have them. */
export const showDays = ({ from, to }: Days): { from: string; to: string } => ({
  from: toDay(from),
  to: toDay(to - 1),
});

/** Throws AppError if the last day is before the first. */
export const toDays = (
  { from, to }: { from?: number | undefined; to?: number | undefined },
  now: number,
): Days => {
  const last = to ?? Math.max(now, from ?? now);
  const first = from ?? Date.parse(`${toDay(last).slice(0, 7)}-01T00:00:00Z`);
  const end = Date.parse(`${toDay(last)}T00:00:00Z`) + msPerDay;
  if (first >= end) throw wrongField('invalid_parameter', 'to', 'The last day is before the first.');
  return { from: first, to: end };
};

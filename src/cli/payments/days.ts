import { InvalidArgumentError, Option } from 'commander';
import { CommandError } from '../command-error.ts';

const msPerDay = 86_400_000;

export interface DayOptions {
  /** Epoch milliseconds of the beginning of the day in UTC. */
  from?: number;
  to?: number;
}

/** Whole days in UTC. */
export interface Days {
  /** Epoch milliseconds, inclusive. */
  from: number;
  /** Epoch milliseconds, exclusive. */
  to: number;
}

const readDay = (text: string): number => {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // Date.parse takes 30 February for a day of March.
  if (Number.isNaN(at) || toDay(at) !== text)
    throw new InvalidArgumentError('Write a day, such as 2026-11-21.');
  return at;
};

/** `2026-11-21` */
export const toDay = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 10);

export const dayOptions = [
  new Option('--from <day>', 'the first day, in UTC (default: the first of this month)').argParser(readDay),
  new Option('--to <day>', 'the last day, in UTC (default: today)').argParser(readDay),
];

/** Throws CommandError if the last day is before the first. */
export const toDays = ({ from, to }: DayOptions, now: number): Days => {
  const last = to ?? Math.max(now, from ?? now);
  const first = from ?? Date.parse(`${toDay(last).slice(0, 7)}-01T00:00:00Z`);
  const end = Date.parse(`${toDay(last)}T00:00:00Z`) + msPerDay;
  if (first >= end) throw new CommandError('invalid_usage', 'The last day is before the first.');
  return { from: first, to: end };
};

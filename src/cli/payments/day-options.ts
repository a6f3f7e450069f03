import { Option } from 'commander';
import { dayField } from '../../operator/payments/days.ts';
import { readField } from '../read-arguments.ts';

export interface DayOptions {
  /** `2026-11-21`, in UTC. */
  from?: string;
  to?: string;
}

const readDay = readField(dayField);

/** Refuses text that is no day. */
const checkDay = (text: string): string => {
  readDay(text);
  return text;
};

export const dayOptions = [
  new Option('--from <day>', 'the first day, in UTC (default: the first of this month)').argParser(checkDay),
  new Option('--to <day>', 'the last day, in UTC (default: today)').argParser(checkDay),
];

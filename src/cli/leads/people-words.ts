import type { Command } from 'commander';
import { readNames } from './names.ts';
import { placeOption } from './place-option.ts';
import type { LeadPlaceName } from './place.ts';
import type { LeadSession } from './session.ts';

/** The options of a command on people. */
export interface PeopleOptions {
  file?: string;
  to?: LeadPlaceName;
}

/** Adds the words that name people, and where. */
export const addPeopleWords = (command: Command): Command =>
  command
    .argument(
      '[username...]',
      'their usernames, with or without the at-sign; "-" reads them from standard input',
    )
    .option('--file <file>', 'a file of usernames, one a line')
    .addOption(placeOption());

/** The people who are named by the words. Throws CommandError. */
export const readPeople = (
  usernames: string[],
  { file }: PeopleOptions,
  { stdin }: Pick<LeadSession, 'stdin'>,
): Promise<string[]> => readNames({ usernames, ...(file === undefined ? {} : { file }) }, { stdin });

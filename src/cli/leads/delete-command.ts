import type { Command } from 'commander';
import { LeadKeeperError } from '../../leads/lead-keeper.ts';
import type { CommandContext } from '../command-context.ts';
import { addExamples } from '../examples.ts';
import { countOf } from './figures.ts';
import { addPeopleWords, readPeople, type PeopleOptions } from './people-words.ts';

/** Who has to be forgotten must not be taken for somebody who was. */
const sayingNobody = (error: unknown): unknown =>
  error instanceof LeadKeeperError && error.problem === 'busy'
    ? new LeadKeeperError('busy', `${error.message} Nobody was forgotten.`, { cause: error })
    : error;

/** Adds `leads delete`. */
export const addDeleteCommand = (leads: Command, context: CommandContext): void => {
  const deleting = leads
    .command('delete')
    .summary('forget people for good')
    .description(
      'Forgets people who ask for it: no search finds them from now on, their data is erased, and no import brings ' +
        'them back. People without a profile are remembered for that too. What is kept of them is a digest of the name ' +
        'alone. "leads restore" lets them be imported again.',
    );
  addPeopleWords(deleting).action((usernames: string[], options: PeopleOptions) =>
    context.runOnLeads({ to: options.to }, async ({ keeper, stdin }) => {
      const names = await readPeople(usernames, options, { stdin });
      const { removed } = await keeper
        .forget(names, { signal: new AbortController().signal })
        .catch((error: unknown) => {
          throw sayingNobody(error);
        });
      return {
        json: { forgotten: names.length, removed },
        text:
          `${countOf(names.length, 'person is', 'people are')} forgotten; ${countOf(removed, 'profile was', 'profiles were')} erased. ` +
          'No import brings them back.',
      };
    }),
  );
  addExamples(deleting, [
    'causeway leads delete jane.doe',
    'causeway leads delete --file requests.txt --json',
    'causeway leads delete -',
  ]);
};

import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { addExamples } from '../examples.ts';
import { countOf } from './figures.ts';
import { addPeopleWords, readPeople, type PeopleOptions } from './people-words.ts';

/** Adds `leads restore`. */
export const addRestoreCommand = (leads: Command, context: CommandContext): void => {
  const restoring = leads
    .command('restore')
    .summary('let forgotten people be imported again')
    .description(
      'Takes "leads delete" back as far as it can be: the next import that names these people adds them again. Their ' +
        'profiles are gone and do not come back by themselves.',
    );
  addPeopleWords(restoring).action((usernames: string[], options: PeopleOptions) =>
    context.runOnLeads({ to: options.to }, async ({ keeper, stdin }) => {
      const names = await readPeople(usernames, options, { stdin });
      const { restored } = await keeper.remember(names);
      const others = names.length - restored;
      return {
        json: { restored, not_forgotten: others },
        text:
          `${countOf(restored, 'person', 'people')} can be imported again.` +
          (others === 0 ? '' : ` ${countOf(others, 'name was', 'names were')} not forgotten.`),
      };
    }),
  );
  addExamples(restoring, ['causeway leads restore jane.doe', 'causeway leads restore --file requests.txt']);
};

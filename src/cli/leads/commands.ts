import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { addExamples } from '../examples.ts';
import { addDeleteCommand } from './delete-command.ts';
import { addLeadExportCommand } from './export-command.ts';
import { addImportCommand } from './import-command.ts';
import { addRestoreCommand } from './restore-command.ts';
import { addStatsCommand } from './stats-command.ts';

/** Adds `leads import`, `stats`, `export`, `delete` and `restore`. */
export const addLeadCommands = (program: Command, context: CommandContext): void => {
  const leads = program
    .command('leads')
    .summary('import, count, export and delete the profiles that are searched')
    .description(
      'Imports, counts and exports the profiles that "search_leads" finds, and forgets people who ask for it. Running ' +
        'gateways see each change within seconds, and never half of one.',
    );
  addExamples(leads, [
    'causeway leads import profiles.csv',
    'causeway leads stats',
    'causeway leads delete jane.doe',
  ]);
  addImportCommand(leads, context);
  addStatsCommand(leads, context);
  addLeadExportCommand(leads, context);
  addDeleteCommand(leads, context);
  addRestoreCommand(leads, context);
};

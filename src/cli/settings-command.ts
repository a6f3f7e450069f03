import { createRequire } from 'node:module';
import type { Command } from 'commander';
import type { SettingsInForce } from '../config/settings-in-force.ts';
import type { Answer, CommandContext } from './command-context.ts';
import { addExamples } from './examples.ts';
import { formatTable } from './format-table.ts';

/** Adds `settings`. */
export const addSettingsCommand = (program: Command, context: CommandContext): void => {
  const command = program
    .command('settings')
    .summary('show all settings, without secrets')
    .description(
      'Shows the settings that a gateway would start with here, where each was set, and causeway.yaml. Secrets are ' +
        'hidden; of an address that may hold one, only its scheme and host are shown. A running gateway tells its own ' +
        'settings at /admin/v1/settings.',
    )
    .action(() => context.runOnConfig(async (config) => settingsAnswer(await (await config()).describe())));
  addExamples(command, [
    'causeway settings',
    'causeway settings --json | jq -r \'.settings[] | select(.source != "default")\'',
  ]);
};

const settingsAnswer = (described: SettingsInForce): Answer => {
  const { stringify } = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  const table = formatTable({ NAME: 'name', VALUE: 'value', 'SET BY': 'source' }, described.settings);
  return {
    json: described,
    text:
      described.file === null ? table : `${table}\n\ncauseway.yaml:\n${stringify(described.file).trimEnd()}`,
  };
};

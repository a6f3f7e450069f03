import { createRequire } from 'node:module';
import { getSettings } from '../operator/gateway.ts';
import { formatTable } from '../operator/view.ts';
import type { ConfigCommandDefinition } from './command-definition.ts';

export const settingsCommand: ConfigCommandDefinition<[]> = {
  words: 'settings',
  summary: 'show all settings, without secrets',
  description:
    'Shows the settings that a gateway would start with here, where each was set, and causeway.yaml. Secrets are ' +
    'hidden; of an address that may hold one, only its scheme and host are shown. A running gateway tells its own ' +
    `settings at ${getSettings.rest.path}.`,
  examples: [
    'causeway settings',
    'causeway settings --json | jq -r \'.settings[] | select(.source != "default")\'',
  ],
  runOnConfig: async (config) => {
    const described = await (await config()).describe();
    const { stringify } = createRequire(import.meta.url)('yaml') as typeof import('yaml');
    const table = formatTable('name value source=SET_BY', described.settings);
    const { file } = described;
    const text = file === null ? table : `${table}\n\ncauseway.yaml:\n${stringify(file).trimEnd()}`;
    return { json: described, text };
  },
};

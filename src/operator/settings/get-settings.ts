import { z } from 'zod';
import { operatorRead } from '../operator-operation.ts';

export const getSettings = operatorRead({
  name: 'get_settings',
  title: 'Get the settings in force',
  description:
    'All settings with their values and where they were set. Secrets are hidden; of an address that may hold one, only ' +
    'its scheme and host are shown.',
  group: 'gateway',
  path: '/settings',
  fields: {},
  output: z.strictObject({
    settings: z.array(
      z.strictObject({
        name: z.string(),
        value: z.string().nullable().describe('Null: unset, without a default.'),
        source: z.enum(['environment', '--env-file', '--data-dir', 'default']).nullable(),
        secret: z.boolean().describe('True: the value, or a part of it, is secret.'),
      }),
    ),
    file: z.json().describe('causeway.yaml; null: there is none.'),
  }),
  answer: 'SettingsInForce',
  example: {
    input: {},
    answer: {
      settings: [
        { name: 'PORT', value: '8402', source: 'default', secret: false },
        {
          name: 'DATABASE_URL',
          value: 'postgres://db.internal:5432/(hidden)',
          source: 'environment',
          secret: true,
        },
      ],
      file: null,
    },
  },
  handle: async (_input, { config }) => (await config()).describe(),
});

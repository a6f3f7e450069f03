import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import { keyIdField, labelField, limitFields } from '../../operations/keys/key-fields.ts';
import { operatorWrite } from '../operator-operation.ts';
import { exampleKey, findKeyView, keySchema } from './key-view.ts';
import { readKnownLimits } from './read-known-limits.ts';

export const changeKey = operatorWrite({
  name: 'change_key',
  title: 'Change the limits of a key',
  description:
    'Changes the label and the limits of an API key, from its next call on: fields that are left out stay, and null ' +
    'removes a limit.',
  group: 'keys',
  path: '/keys/{key_id}',
  fields: { key_id: keyIdField, label: labelField.optional(), ...limitFields },
  output: z.strictObject({ api_key: keySchema }),
  answer: 'ChangedKey',
  example: {
    input: { key_id: exampleKey.id, budget_day_usd: '5.00' },
    answer: { api_key: exampleKey },
  },
  errors: ['key_not_found', 'invalid_value'],
  handle: async ({ key_id: id, label, ...written }, services) => {
    await findKeyView(id, services);
    const limits = await readKnownLimits(written, services);
    if (!(await services.store.changeKey({ id, label, ...limits })))
      throw new AppError('invalid_value', 'The key is revoked. Issue a new one.', { param: 'key_id' });
    return { api_key: await findKeyView(id, services) };
  },
});

import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import { assertMakesKeys, exampleKey, exampleKeyId } from './key-answer.ts';
import { keyIdField, labelField, limitFields } from './key-fields.ts';
import { ownKeyOperation } from './own-key-operation.ts';
import { readOwnLimits } from './read-own-limits.ts';

const revoked = 'The key is revoked. Make a new one.';

export const updateKey = ownKeyOperation({
  name: 'update_key',
  title: 'Change the limits of a key',
  description:
    'Changes the label and the limits of an API key of this account, from its next call on: fields that are left out ' +
    'stay, and null removes a limit. Not with a key that has limits. Free.',
  // A misspelt limit must not be ignored: the key would be without it.
  input: z.strictObject({ key_id: keyIdField, label: labelField.optional(), ...limitFields }),
  rest: { method: 'POST', isStrict: true, errors: ['invalid_value'] },
  example: {
    summary: 'Another budget, and no expiry',
    body: { budget_day_usd: '5.00', expires_at: null },
    answer: { ...exampleKey, expires_at: null },
  },
  wrong: { key_id: exampleKeyId, budget_day_usd: '-5' },
  errors: { invalid_value: { when: 'The key is revoked.', message: revoked, param: 'key_id' } },
  change: async (id, { key_id: _id, label, ...written }, caller, services) => {
    assertMakesKeys(caller);
    const limits = readOwnLimits(written, caller, services);
    if (!(await services.store.changeKey({ id, label, ...limits })))
      throw new AppError('invalid_value', revoked, { param: 'key_id' });
  },
});

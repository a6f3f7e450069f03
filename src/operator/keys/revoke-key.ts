import { z } from 'zod';
import { revokeKey as revoke } from '../../accounts/revoke-key.ts';
import { idField } from '../../operations/id-field.ts';
import { operatorWrite } from '../operator-operation.ts';
import { requireFound } from '../require-found.ts';
import { exampleKey, findKeyView, keySchema } from './key-view.ts';

const revokedKey = { ...exampleKey, revoked_at: '2026-11-20T10:00:00.000Z' };

export const revokeKey = operatorWrite({
  name: 'revoke_key',
  title: 'Revoke a key',
  description: 'Ends an API key for good: calls with it get 401 `invalid_api_key` from now on.',
  group: 'keys',
  path: '/keys/{key_id}/revoke',
  fields: { key_id: idField.describe('The id of the key; the whole key is accepted too.') },
  output: z.strictObject({ api_key: keySchema }),
  answer: 'RevokedKey',
  example: { input: { key_id: exampleKey.id }, answer: { api_key: revokedKey } },
  errors: ['key_not_found'],
  handle: async ({ key_id: keyOrId }, services) => {
    const { id } = requireFound(await revoke(services, keyOrId), 'key', keyOrId);
    return { api_key: await findKeyView(id, services) };
  },
});

import { z } from 'zod';
import { exampleKey } from './key-answer.ts';
import { keyIdField } from './key-fields.ts';
import { ownKeyOperation } from './own-key-operation.ts';

export const revokeKey = ownKeyOperation({
  name: 'revoke_key',
  title: 'Revoke a key',
  description:
    'Ends an API key of this account for good, from its next call on; jobs that it began go on. Any key can be revoked, ' +
    'also the one that is sent and the last one of the account. Not with a key that has limits. Free.',
  input: z.object({ key_id: keyIdField }),
  rest: { method: 'DELETE' },
  example: { summary: 'A revoked key', answer: { ...exampleKey, revoked_at: '2026-11-20T10:00:00.000Z' } },
  wrong: { key_id: 'x'.repeat(129) },
  change: async (id, _input, _caller, { store, clock }) => {
    await store.revokeKey({ id, now: clock.now() });
  },
});

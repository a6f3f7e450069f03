import { z } from 'zod';
import type { UsedKey } from '../../store/store.ts';
import { historyOperation } from '../account/history-page.ts';
import type { Services } from '../call.ts';
import { jsonAnswer } from '../answer.ts';
import type { JsonObject } from '../../kit/json.ts';
import { type DocsExamples, readOperation, type ReadParts } from '../define-operation.ts';
import type { ReadOperation } from '../definition.ts';
import type { OperationDocs } from '../operation-docs.ts';
import {
  assertManagesKeys,
  exampleKeyId,
  findOwnKey,
  keyErrors,
  keySchema,
  keyView,
  assertMakesKeys,
} from './key-answer.ts';
import type { Caller } from '../../accounts/authenticate.ts';
import { keyIdField, type KeyServices, labelField, limitFields, readOwnLimits } from './key-fields.ts';
import { wrongField } from '../../kit/errors.ts';

interface Parts<Input> extends Pick<
  ReadParts<Input, KeyServices>,
  'name' | 'title' | 'description' | 'input' | 'method' | 'isStrict' | 'errors'
> {
  example: DocsExamples[0];
  wrong: JsonObject;
  texts?: OperationDocs['errors'];
  /** Absent: the operation only reads. */
  change?(id: string, input: Input, caller: Caller, services: KeyServices): Promise<void>;
}

/** Makes an operation on one key of the account that answers the key as it is then. It is no tool. */
const ownKeyOperation = <Input extends { key_id: string }>({
  errors = [],
  example,
  wrong,
  texts,
  change,
  ...parts
}: Parts<Input>): ReadOperation<Input, KeyServices> =>
  readOperation<Input, KeyServices>({
    ...parts,
    output: keySchema,
    path: '/v1/keys/{key_id}',
    errors: ['not_found', 'permission_denied', ...errors],
    // A model must not manage keys.
    tool: null,
    docs: {
      answer: 'Key',
      examples: [{ parameters: { key_id: exampleKeyId }, ...example }],
      wrong,
      errors: { ...keyErrors, ...texts },
    },
    handle: async (input, { caller }, services) => {
      assertManagesKeys(caller);
      const key = await findOwnKey(input.key_id, caller, services);
      if (change === undefined) return jsonAnswer(key);
      await change(key.id, input, caller, services);
      return jsonAnswer(await findOwnKey(key.id, caller, services));
    },
  });

export const listKeys = historyOperation({
  name: 'list_keys',
  title: 'List keys',
  description:
    'The API keys of this account with their limits, newest first. Not with a key that has limits. Free.',
  path: '/v1/keys',
  view: { schema: keySchema, example: keyView.example, show: (key: UsedKey) => keyView.show(key) },
  answer: 'KeyPage',
  example: { summary: 'The newest keys', limit: 50 },
  errors: ['permission_denied'],
  // A model must not manage keys.
  tool: null,
  read: async (position, { caller }, { store, clock }: Pick<Services, 'store' | 'clock'>) => {
    assertManagesKeys(caller);
    return store.listKeys({ ...position, now: clock.now() });
  },
});

export const getKey = ownKeyOperation({
  name: 'get_key',
  title: 'Read a key',
  description:
    'One API key of this account: its limits, and what it spent of its budgets. Not with a key that has limits. Free.',
  input: z.object({ key_id: keyIdField }),
  example: { summary: 'A key with limits', answer: keyView.example },
  wrong: { key_id: 'x'.repeat(129) },
});

const revoked = 'The key is revoked. Make a new one.';

export const updateKey = ownKeyOperation({
  name: 'update_key',
  title: 'Change the limits of a key',
  description:
    'Changes the label and the limits of an API key of this account, from its next call on: fields that are left out ' +
    'stay, and null removes a limit. Not with a key that has limits. Free.',
  // A misspelt limit must not be ignored: the key would be without it.
  input: z.strictObject({ key_id: keyIdField, label: labelField.optional(), ...limitFields }),
  method: 'POST',
  isStrict: true,
  errors: ['invalid_value'],
  example: {
    summary: 'Another budget, and no expiry',
    body: { budget_day_usd: '5.00', expires_at: null },
    answer: { ...keyView.example, expires_at: null },
  },
  wrong: { key_id: exampleKeyId, budget_day_usd: '-5' },
  texts: { invalid_value: { when: 'The key is revoked.', message: revoked, param: 'key_id' } },
  change: async (id, { key_id: _id, label, ...written }, caller, services) => {
    assertMakesKeys(caller);
    const limits = await readOwnLimits(written, caller, services);
    if (!(await services.store.changeKey({ id, label, ...limits })))
      throw wrongField('invalid_value', 'key_id', revoked);
  },
});

export const revokeKey = ownKeyOperation({
  name: 'revoke_key',
  title: 'Revoke a key',
  description:
    'Ends an API key of this account for good, from its next call on; jobs that it began go on. Any key can be revoked, ' +
    'also the one that is sent and the last one of the account. Not with a key that has limits. Free.',
  input: z.object({ key_id: keyIdField }),
  method: 'DELETE',
  example: {
    summary: 'A revoked key',
    answer: { ...keyView.example, revoked_at: '2026-11-20T10:00:00.000Z' },
  },
  wrong: { key_id: 'x'.repeat(129) },
  change: async (id, _input, _caller, { store, clock }) => {
    await store.revokeKey({ id, now: clock.now() });
  },
});

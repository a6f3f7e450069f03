import type { z } from 'zod';
import type { Caller } from '../../accounts/caller.ts';
import { jsonAnswer } from '../answer.ts';
import type { Services } from '../call.ts';
import type { ReadOperation, RestBinding } from '../definition.ts';
import { assertManagesKeys, exampleKeyId, findOwnKey, keyErrors, keySchema } from './key-answer.ts';

interface Parts<Input> extends Pick<ReadOperation, 'name' | 'title' | 'description'> {
  input: z.ZodType<Input>;
  rest: Pick<RestBinding, 'method' | 'isStrict'> & Partial<Pick<RestBinding, 'errors'>>;
  example: Pick<ReadOperation['docs']['examples'][0], 'summary' | 'body' | 'answer'>;
  wrong: ReadOperation['docs']['wrong'];
  errors?: ReadOperation['docs']['errors'];
  /** Absent: the operation only reads. */
  change?(id: string, input: Input, caller: Caller, services: Services): Promise<void>;
}

/** Makes an operation on one key of the account that answers the key as it is then. It is no tool. */
export const ownKeyOperation = <Input extends { key_id: string }>({
  rest,
  example,
  wrong,
  errors,
  change,
  ...parts
}: Parts<Input>): ReadOperation<Input> => ({
  ...parts,
  group: 'generation',
  sale: {
    kind: 'free',
    handle: async (input, { caller }, services) => {
      assertManagesKeys(caller);
      const key = await findOwnKey(input.key_id, caller, services);
      if (change === undefined) return jsonAnswer(key);
      await change(key.id, input, caller, services);
      return jsonAnswer(await findOwnKey(key.id, caller, services));
    },
  },
  output: keySchema,
  rest: {
    path: '/v1/keys/{key_id}',
    query: [],
    validation: 'envelope',
    ...rest,
    errors: ['not_found', 'permission_denied', ...(rest.errors ?? [])],
  },
  // A model must not manage keys.
  tool: null,
  docs: {
    answer: 'Key',
    description: null,
    examples: [{ parameters: { key_id: exampleKeyId }, status: 200, ...example }],
    wrong,
    headers: {},
    mayBeSandbox: false,
    errors: { ...keyErrors, ...errors },
  },
});

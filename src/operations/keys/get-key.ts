import { z } from 'zod';
import { exampleKey } from './key-answer.ts';
import { keyIdField } from './key-fields.ts';
import { ownKeyOperation } from './own-key-operation.ts';

export const getKey = ownKeyOperation({
  name: 'get_key',
  title: 'Read a key',
  description:
    'One API key of this account: its limits, and what it spent of its budgets. Not with a key that has limits. Free.',
  input: z.object({ key_id: keyIdField }),
  rest: { method: 'GET' },
  example: { summary: 'A key with limits', answer: exampleKey },
  wrong: { key_id: 'x'.repeat(129) },
});

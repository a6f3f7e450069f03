import { budgetEvent } from './budget-event.ts';
import { z } from 'zod';
import { issueKey, maxOwnKeys } from '../../accounts/issue-key.ts';
import { AppError } from '../../kit/errors.ts';
import { jsonAnswer } from '../answer.ts';
import type { ReadOperation } from '../definition.ts';
import { assertMakesKeys, exampleKey, newKeySchema, toKeyAnswer } from './key-answer.ts';
import { labelField, limitFields } from './key-fields.ts';
import { readOwnLimits } from './read-own-limits.ts';
import { changeLimits, noLimits, noUse } from '../../rules/key-limits.ts';

const tooManyKeys = `This account has made ${maxOwnKeys} keys, which is the most. Change the limits of one, or ask the operator.`;

// A misspelt limit must not be ignored: the key would be without it.
const input = z.strictObject({ label: labelField.default(''), ...limitFields });

export const createKey: ReadOperation<z.infer<typeof input>> = {
  name: 'create_key',
  title: 'Make a key',
  description:
    'Makes an API key for this account, with limits of its own if you like. The whole key is answered only this once. ' +
    `Not with a key that has limits. An account makes at most ${maxOwnKeys} keys. Free.`,
  group: 'generation',
  sale: {
    kind: 'free',
    handle: async ({ label, ...written }, { caller }, services) => {
      assertMakesKeys(caller);
      const { accountId, keyId: madeBy } = caller;
      const limits = readOwnLimits(written, caller, services);
      const issued = await issueKey(services, {
        accountId,
        label,
        brand: services.config.brand,
        limits: changeLimits(noLimits, limits),
        madeBy,
      });
      if (issued.outcome === 'too_many') throw new AppError('invalid_value', tooManyKeys);
      if (issued.outcome !== 'issued')
        throw new AppError('invalid_api_key', 'The account is not active any more. Ask the operator.');
      // Read again, the key could be lost: it is shown only now.
      return jsonAnswer({ key: issued.key, ...toKeyAnswer({ ...issued.apiKey, ...noUse }) });
    },
  },
  input,
  output: newKeySchema,
  rest: {
    method: 'POST',
    path: '/v1/keys',
    query: [],
    validation: 'envelope',
    isStrict: true,
    errors: ['permission_denied', 'invalid_value'],
  },
  tool: null,
  docs: {
    answer: 'NewKey',
    event: budgetEvent,
    description: null,
    examples: [
      {
        summary: 'A key with limits',
        body: {
          label: 'nightly reports',
          expires_at: '2027-01-31T00:00:00Z',
          models: ['textmodel-3.5-flash'],
          budget_day_usd: '5.00',
          budget_month_usd: '100.00',
          alert_url: 'https://shop.example.com/hooks/causeway',
        },
        status: 200,
        answer: { key: 'sk_causeway_…', ...exampleKey },
      },
    ],
    wrong: { budget_day_usd: '-5' },
    headers: {},
    mayBeSandbox: false,
    errors: {
      invalid_value: { when: 'The account has made as many keys as it may.', message: tooManyKeys },
    },
  },
};

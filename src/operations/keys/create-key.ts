import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import { jsonAnswer } from '../answer.ts';
import { readOperation } from '../define-operation.ts';
import { assertMakesKeys, exampleKeyId, keyView, newKeySchema } from './key-answer.ts';
import { type KeyServices, labelField, limitFields, readOwnLimits } from './key-fields.ts';
import { changeLimits, noLimits, noUse } from '../../rules/key-limits.ts';
import { issueKey, maxOwnKeys } from '../../accounts/keys.ts';
import { time, usd } from '../answer-fields.ts';
import type { EventDocs } from '../operation-docs.ts';

/** The body that `store/commands/key-budgets.ts` writes. */
const schema = z
  .looseObject({
    event_id: z.string().describe('The same in every delivery of this event.'),
    type: z.literal('key.budget_reached'),
    key_id: z.string(),
    label: z.string(),
    period: z.enum(['day', 'month', 'total']),
    percent: z.literal([80, 100]),
    budget_usd: usd,
    spent_usd: usd.describe('In the period, with the charge that reached the percentage.'),
    resets_at: time.nullable().describe('The end of the period; null for the total.'),
    created_at: time,
  })
  .describe('A key has spent a part of a budget.');

const budgetEvent: EventDocs = {
  name: 'key_budget_reached',
  summary: 'A key has spent 80 % or 100 % of a budget',
  when: 'Sent to the alert_url of a key, once in a period for each of the two percentages.',
  schemaName: 'BudgetEvent',
  schema,
  example: {
    event_id: '019ab1c2-4e5f-7061-8b9c-1d2e3f4a5b6c',
    type: 'key.budget_reached',
    key_id: exampleKeyId,
    label: 'nightly reports',
    period: 'day',
    percent: 80,
    budget_usd: '5.00',
    spent_usd: '4.02',
    resets_at: '2026-11-21T00:00:00.000Z',
    created_at: '2026-11-20T17:45:10.120Z',
  },
};

const tooManyKeys = `This account has made ${maxOwnKeys} keys, which is the most. Change the limits of one, or ask the operator.`;

// A misspelt limit must not be ignored: the key would be without it.
const input = z.strictObject({ label: labelField.default(''), ...limitFields });

export const createKey = readOperation<z.infer<typeof input>, KeyServices>({
  name: 'create_key',
  title: 'Make a key',
  description:
    'Makes an API key for this account, with limits of its own if you like. The whole key is answered only this once. ' +
    `Not with a key that has limits. An account makes at most ${maxOwnKeys} keys. Free.`,
  input,
  output: newKeySchema,
  method: 'POST',
  path: '/v1/keys',
  isStrict: true,
  errors: ['permission_denied', 'invalid_value'],
  tool: null,
  docs: {
    answer: 'NewKey',
    event: budgetEvent,
    examples: [
      {
        summary: 'A key with limits',
        body: {
          label: 'nightly reports',
          expires_at: '2027-01-31T00:00:00Z',
          models: ['textmodel-3.5-flash'],
          budget_day_usd: '5.00',
          budget_month_usd: '100.00',
          budget_total_usd: '400.00',
          alert_url: 'https://shop.example.com/hooks/causeway',
        },
        answer: { key: 'sk_causeway_…', ...keyView.example },
      },
    ],
    wrong: { budget_day_usd: '-5' },
    errors: {
      invalid_value: { when: 'The account has made as many keys as it may.', message: tooManyKeys },
    },
  },
  handle: async ({ label, ...written }, { caller }, services) => {
    assertMakesKeys(caller);
    const { accountId, keyId: madeBy } = caller;
    const limits = await readOwnLimits(written, caller, services);
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
    return jsonAnswer({ key: issued.key, ...keyView.show({ ...issued.apiKey, ...noUse }) });
  },
});

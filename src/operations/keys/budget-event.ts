import { z } from 'zod';
import { time, usd } from '../answer-fields.ts';
import type { EventDocs } from '../operation-docs.ts';
import { exampleKeyId } from './key-answer.ts';

/** The body that `store/commands/key-budgets.ts` writes. */
const schema = z
  .looseObject({
    event_id: z.string().describe('The same in every delivery of this event.'),
    type: z.literal('key.budget_reached'),
    key_id: z.string(),
    label: z.string(),
    period: z.enum(['day', 'month']),
    percent: z.literal([80, 100]),
    budget_usd: usd,
    spent_usd: usd.describe('In the period, with the charge that reached the percentage.'),
    resets_at: time.describe('The end of the period.'),
    created_at: time,
  })
  .describe('A key has spent a part of a budget.');

export const budgetEvent: EventDocs = {
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

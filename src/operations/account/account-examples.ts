import type { JsonObject } from '../../kit/json.ts';
import type { OperationDocs } from '../operation-docs.ts';
import { imageJobId } from '../images/image-examples.ts';

const totals: JsonObject = {
  jobs: { total: 3, queued: 0, running: 1, done: 1, failed: 1 },
  charged_usd: '0.04',
  refunded_usd: '0.00',
  net_spent_usd: '0.04',
};

const usage: JsonObject = {
  from: '2026-10-21T09:30:00.000Z',
  to: '2026-11-20T09:30:00.000Z',
  currency: 'USD',
  ...totals,
  by_model: [{ model: 'imagemodel-1.0', ...totals }],
  by_kind: [{ kind: 'image', ...totals }],
  by_day: [{ day: '2026-11-20', ...totals }],
};

export const getBalanceExamples: OperationDocs['examples'] = [
  {
    summary: 'An account with its webhook secret',
    status: 200,
    answer: {
      balance_usd: '24.96',
      currency: 'USD',
      webhook_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwYzcH5hPLv3s=',
    },
  },
];

export const getUsageExamples: OperationDocs['examples'] = [
  {
    summary: 'The last 30 days',
    parameters: { from: '2026-10-21T09:30:00Z', to: '2026-11-20T09:30:00Z' },
    status: 200,
    answer: usage,
  },
];

export const listTransactionsExamples: OperationDocs['examples'] = [
  {
    summary: 'The newest transactions',
    parameters: { limit: 50 },
    status: 200,
    answer: {
      data: [
        {
          id: '0d9e8f7a-6b5c-4d3e-9f2a-1b0c9d8e7f6a',
          type: 'debit',
          amount_usd: '-0.04',
          currency: 'USD',
          created_at: '2026-11-20T09:30:06.412Z',
          job_id: imageJobId,
          model: 'imagemodel-1.0',
        },
        {
          id: '1e0f9a8b-7c6d-4e4f-8a3b-2c1d0e9f8a7b',
          type: 'topup',
          amount_usd: '25.00',
          currency: 'USD',
          created_at: '2026-11-01T08:00:00.000Z',
          job_id: null,
          model: null,
        },
      ],
      has_more: false,
      next_cursor: null,
    },
  },
];

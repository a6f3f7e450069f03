import { z } from 'zod';
import { parseUsd } from '../../src/kit/money.ts';
import type { Operation } from '../../src/operations/definition.ts';
import type { AnswerSale } from '../../src/operations/sale.ts';

interface Input {
  sign: string;
  days: number;
}

const perDay = parseUsd('0.05');

/** Sells horoscopes by x402 beside the search. */
export const sellHoroscope: Operation<Input, AnswerSale<Input>> = {
  name: 'sell_horoscope',
  title: 'Tell the future',
  description: 'A line for each day. Paid with USDC by x402.',
  group: 'search',
  input: z.object({ sign: z.string(), days: z.int().min(1).max(7).default(1) }),
  output: z.looseObject({ lines: z.array(z.string()) }),
  rest: {
    method: 'GET',
    path: '/v1/horoscope',
    query: ['sign', 'days'],
    validation: 'detail',
    errors: ['payment_required'],
  },
  tool: { readOnly: false, idempotent: false, openWorld: false },
  docs: {
    answer: 'Horoscope',
    description: null,
    examples: [
      {
        summary: 'Two days',
        parameters: { sign: 'leo', days: 2 },
        status: 200,
        answer: { lines: ['Rest.', 'Rest more.'] },
      },
    ],
    wrong: { sign: 'leo', days: 8 },
    headers: {},
    mayBeSandbox: false,
  },
  sale: {
    kind: 'answer',
    description: 'Horoscope',
    unit: { one: 'horoscope', many: 'horoscopes' },
    tags: ['stars'],
    example: { input: { sign: 'leo', days: 2 }, output: { lines: ['Rest.', 'Rest more.'] } },
    ratePerMinute: 20,
    pricing: 'by_day',
    quote: ({ days }) => ({ price: perDay * BigInt(days) }),
    priceRange: () => ({ least: perDay, most: perDay * 7n }),
    produce: async ({ sign, days }) => ({
      lines: Array.from({ length: days }, (_line, day) => `${sign}: day ${day + 1}`),
    }),
    isFree: () => false,
    isSandbox: () => false,
    sandbox: { description: 'Invented horoscope', goods: 'invented horoscopes', notice: 'It is invented.' },
  },
};

import { z } from 'zod';
import { parseUsd } from '../../src/kit/money.ts';
import { AppError } from '../../src/kit/errors.ts';
import type { SoldOperation, X402Sale } from '../../src/operations/operation.ts';

interface Input {
  sign: string;
  days: number;
}

const perDay = parseUsd('0.05');

/** Sells horoscopes by x402 beside the search. */
export const sellHoroscope: SoldOperation<Input> & { sale: { x402: X402Sale<Input> } } = {
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
    x402: {
      description: 'Horoscope',
      unit: { one: 'horoscope', many: 'horoscopes' },
      tags: ['stars'],
      example: { input: { sign: 'leo', days: 2 }, output: { lines: ['Rest.', 'Rest more.'] } },
      ratePerMinute: 20,
      pricing: 'by_day',
      price: ({ days }) => perDay * BigInt(days),
      priceRange: () => ({ least: perDay, most: perDay * 7n }),
      check: () => undefined,
      produce: async ({ sign, days }) => ({
        lines: Array.from({ length: days }, (_line, day) => `${sign}: day ${day + 1}`),
      }),
      isFree: () => false,
      isSandbox: () => false,
      sandbox: { description: 'Invented horoscope', goods: 'invented horoscopes', notice: 'It is invented.' },
    },
  },
};

const tooPoor = (): Promise<never> =>
  Promise.reject(new AppError('insufficient_balance', 'The balance does not cover a horoscope.'));

/** Sells them to accounts as well, all of which are too poor. */
export const sellHoroscopeEitherWay: SoldOperation<Input> = {
  ...sellHoroscope,
  name: 'sell_horoscope_either_way',
  rest: { ...sellHoroscope.rest, path: '/v1/horoscope-either-way' },
  sale: {
    x402: { ...sellHoroscope.sale.x402, description: 'Horoscope for anybody' },
    prepaid: { idempotentPart: (input) => input, open: tooPoor, answer: tooPoor },
  },
};

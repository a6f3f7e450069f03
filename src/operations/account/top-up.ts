import { soldOperation } from '../define-operation.ts';
import { z } from 'zod';
import { amountText } from '../../kit/settings.ts';
import { nanoPerUsd, parseUsd, formatUsd, type Nano } from '../../kit/money.ts';
import { usualPriceLimit } from '../per-call-sale.ts';
import { usd } from '../answer-fields.ts';
import type { CreditSale } from '../sale.ts';

export const leastTopUp = nanoPerUsd / 10n;
const most = nanoPerUsd * 1_000n;
const suggested = ['1.00', '5.00', '20.00'];

/** Whole cents, from `least` on. */
export const topUpAmount = (least: Nano) =>
  amountText
    .transform((text, context) => {
      const amount = /^\d{1,6}(?:\.\d{1,2})?$/.test(text) ? parseUsd(text) : 0n;
      if (amount >= least && amount <= most) return formatUsd(amount);
      const message = `must be an amount of ${formatUsd(least)} to ${formatUsd(most)} USD with at most two decimals, such as "5.00"`;
      context.addIssue(message);
      return z.NEVER;
    })
    .describe(`USD to pay, ${formatUsd(least)} to ${formatUsd(most)}, e.g. "1.00".`);

const input = z.object({ amount_usd: topUpAmount(leastTopUp) });

type TopUpInput = z.infer<typeof input>;

/** Raises a balance by a payment: of the caller's account, or of the account of the wallet that pays. */
export const topUp = soldOperation<TopUpInput, CreditSale<TopUpInput>>({
  name: 'top_up',
  title: 'Top up',
  description:
    'Pays USDC by x402 onto a balance: of your account with a key, else of the account of the wallet that pays. An ' +
    'unpaid call answers the payment terms.',
  input,
  output: z.looseObject({
    object: z.literal('topup'),
    amount_usd: z.string(),
    balance_usd: usd
      .optional()
      .describe('Absent where a proof is repeated without a key, as anybody can who read it on the chain.'),
    receipt_url: z.string().optional().describe('Its signed receipt, read with a key.'),
  }),
  rest: { path: '/v1/topup' },
  docs: {
    answer: 'TopUp',
    examples: [
      {
        summary: 'One dollar, paid',
        body: { amount_usd: '1.00' },
        answer: {
          object: 'topup',
          amount_usd: '1.00',
          balance_usd: '1.00',
          receipt_url: 'https://gateway.example.com/v1/receipts/eip155:8453:0x8335:0x3c44:0x5f3c',
        },
      },
    ],
    wrong: { amount_usd: '0.01' },
  },
  sale: {
    kind: 'credit',
    description: 'Top-up of a balance',
    unit: { one: 'top-up', many: 'top-ups' },
    tags: ['balance', 'credit'],
    example: { input: { amount_usd: '1.00' }, output: { object: 'topup', amount_usd: '1.00' } },
    ratePerMinute: 60,
    pricing: 'amount',
    priceRange: () => ({ least: leastTopUp, most }),
    quote: ({ amount_usd: amount }) => ({
      price: parseUsd(amount),
      parts: {
        least_usd: formatUsd(leastTopUp),
        most_usd: formatUsd(most),
        suggested_usd: suggested,
        note: `Clients of x402 pay at most $${formatUsd(usualPriceLimit)} at once, unless they are told otherwise.`,
      },
    }),
    answer: ({ amount_usd: amount }) => ({ object: 'topup', amount_usd: amount }),
    sandbox: {
      description: 'Top-up with sandbox credit',
      goods: 'answers of a sandbox',
      notice: 'Test money becomes sandbox credit.',
    },
  },
});

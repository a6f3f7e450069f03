import { z } from 'zod';
import { formatUsd, nanoPerUsd, type Nano } from '../../kit/money.ts';
import type { DescribedOperation } from '../../operations/definition.ts';
import type { Offer } from '../../operations/sale.ts';
import { reference } from './schema-registry.ts';

const nanoPerUnit = 1_000n;
const payTo = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';

const text = z.string();

export const paymentRequiredBody = z
  .looseObject({
    error: text,
    x402: z.looseObject({ version: text, amount: text, asset: text, payTo: text, chain: text }),
    x402Version: z.literal(1).describe('Of `accepts` here; the terms in PAYMENT-REQUIRED are of version 2.'),
    extensions: z.looseObject({}).optional().describe('The challenge to sign, where wallets can sign in.'),
    accepts: z
      .array(
        z.looseObject({
          scheme: z.literal('exact'),
          network: text,
          maxAmountRequired: text.describe("In the asset's smallest unit."),
          resource: text,
          description: text.optional(),
          mimeType: text.optional(),
          payTo: text,
          maxTimeoutSeconds: z.int(),
          asset: text,
          extra: z.looseObject({}).optional(),
        }),
      )
      .min(1)
      .describe('x402 v1 payment requirements, one a network.'),
  })
  .describe('The terms of a payment: a summary for people, and x402 v1 terms.');

/** What a call costs in examples of operations whose prices are not known. */
const examplePrice = nanoPerUsd / 10n;

/** Returns the content of an operation's 402: its terms as JSON, and as a page for people. No example if nobody can buy. */
export const paymentRequiredContent = (
  operation: DescribedOperation,
  sale: Pick<Offer, 'description'>,
): object => ({
  'application/json': {
    schema: reference('PaymentRequired'),
    ...(operation.price === null ? {} : { examples: { payment_required: exampleOf(operation, sale) } }),
  },
  'text/html': {
    schema: {
      type: 'string',
      description:
        'The same terms as a page for people: where `Accept` prefers `text/html` to JSON, as browsers do, and no payment ' +
        'was sent. All other refusals are JSON.',
    },
  },
});

/** The header that carries the same terms as x402 v2 has them. */
export const paymentRequiredHeader = {
  'PAYMENT-REQUIRED': {
    description: 'x402 v2 terms: every network that is accepted, with the exact amount.',
    schema: {
      type: 'string',
      contentEncoding: 'base64',
      contentMediaType: 'application/json',
      contentSchema: reference('PaymentRequiredHeader'),
    },
  },
} satisfies Record<string, object>;

const exampleOf = (operation: DescribedOperation, sale: Pick<Offer, 'description'>): object => ({
  summary: 'No payment yet',
  value: exampleTerms(operation, sale, operation.price?.least ?? examplePrice),
});

const exampleTerms = (
  { rest }: DescribedOperation,
  { description }: Pick<Offer, 'description'>,
  least: Nano,
): object => ({
  error: 'Payment required',
  x402: { version: '2', amount: formatUsd(least), asset: 'USDC', payTo, chain: 'base' },
  x402Version: 1,
  accepts: [
    {
      scheme: 'exact',
      network: 'base',
      maxAmountRequired: String(least / nanoPerUnit),
      resource: `https://gateway.example.com${rest.path}`,
      description,
      mimeType: 'application/json',
      payTo,
      maxTimeoutSeconds: 300,
      asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      extra: { name: 'USD Coin', version: '2' },
    },
  ],
});

import { z } from 'zod';
import type { RefundEnd } from '../../purchases/refunds/refund-payment.ts';
import type { TokenTexts } from '../../purchases/token-amount.ts';
import { refundSchema, toRefundView } from './refund-view.ts';

/** The answer of a refund that ended, or that stopped on its way. */
export const refundEndSchema = z.strictObject({
  outcome: z
    .enum(['settled', 'landed', 'failed', 'open', 'postponed'])
    .describe(
      '`settled`: the transfer is final. `landed`: the chain has it, and a fork could undo it. `failed`: it is proven that ' +
        'nothing was refunded. `open`: it is signed, and its end is not known. `postponed`: nothing was sent. After ' +
        '`landed`, `open` and `postponed`, send the same call again: it never pays twice.',
    ),
  refund: refundSchema,
  reason: z.string().optional(),
  refusal: z.string().nullable().optional().describe('What the node said to the transaction.'),
  nonce: z.int().nullable().optional().describe('EVM: the nonce of the transaction.'),
});

export type RefundEndView = z.output<typeof refundEndSchema>;

export const toRefundEnd = (end: RefundEnd, tokens: TokenTexts): RefundEndView => ({
  outcome: end.outcome,
  refund: toRefundView(end.refund, tokens),
  ...('reason' in end ? { reason: end.reason } : {}),
  ...(end.outcome === 'open' ? { refusal: end.refusal, nonce: end.nonce } : {}),
});

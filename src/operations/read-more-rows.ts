import { AppError } from '../kit/errors.ts';
import { isUuid } from '../kit/ids.ts';
import { hasProof, replayLifeMs } from '../payments/sale/gate.ts';
import { isMade } from '../rules/payments.ts';
import { createMoreUri, type AnswerText } from './answer.ts';
import type { Call, Services } from './call.ts';
import type { Operation } from './definition.ts';
import { countCall } from './paid-call.ts';
import { countAccountCall } from './prepaid.ts';
import { answerSaleOf } from './sale-rules.ts';
import { replay } from './sell-answer.ts';

interface Rows {
  operation: Operation;
  id: string;
  last: number;
}

/**
 * Reads the last rows of an answer that was paid for within a day, free of charge: with a key of the account whose balance
 * paid for it, or with the proof that did. Null: there is no such answer.
 */
export const readMoreRows = async (
  rows: Rows,
  call: Call,
  services: Services,
): Promise<AnswerText | null> => {
  const { operation, id, last } = rows;
  const sale = answerSaleOf(operation.sale);
  const stored = await findStored(rows, call, services);
  if (sale?.toText === undefined || stored === null) return null;
  const body = await replay(sale, JSON.parse(stored), { services, signal: call.signal });
  const moreUri = createMoreUri(services.config, { operation: operation.name, id });
  return sale.toText(body, { price: null, last, moreUri });
};

const findStored = async (
  { operation, id }: Rows,
  call: Call,
  services: Services,
): Promise<string | null> => {
  const { caller, proofs } = call;
  if (isUuid(id)) {
    if (caller === null) throw new AppError('invalid_api_key', 'This needs a key of the account that paid.');
    await countAccountCall(caller, services);
    const job = await services.store.getJob({ id, accountId: caller.accountId });
    if (job === null || job.model !== operation.name || job.finishedAt === null) return null;
    if (services.clock.now() - job.finishedAt > replayLifeMs) return null;
    // A job that was lost answers what its payment has bought.
    const paid = job.status === 'failed' ? await services.store.findPaymentOfJob(id) : null;
    return paid === null || paid.isRefunded || !isMade(paid) ? job.result : paid.result;
  }
  await countCall(operation, call, services);
  if (!hasProof(proofs))
    throw new AppError(
      'invalid_payment',
      'This was paid with a payment proof. Send that proof in _meta["x402/payment"] to read it.',
    );
  const { requestHash, result } = await services.x402.recall(proofs);
  return requestHash === id ? result : null;
};

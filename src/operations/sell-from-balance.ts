import { AppError } from '../kit/errors.ts';
import { hasProof } from '../payments/sale/gate.ts';
import type { Answer } from './answer.ts';
import type { Call, Services } from './call.ts';
import { admit, runPrepaid } from './prepaid.ts';
import { answerFree, isOnSale } from './sale-rules.ts';
import type { BalanceAnswerSale } from './sale.ts';
import { freeAnswer, sellAnswer, type AnswerOrder } from './sell-answer.ts';
import { validate } from './validate.ts';

/**
 * Sells an answer from the balance of a caller with a key. A call without one, with a payment, or beyond the balance is sold
 * as any other answer, where something can be paid.
 */
export const sellFromBalance = async (
  order: AnswerOrder<BalanceAnswerSale>,
  call: Call,
  services: Services,
): Promise<Answer> => {
  const { operation, sale, rawInput } = order;
  if (call.caller === null || hasProof(call.proofs)) return sellAnswer(order, call, services);
  const account = await admit(call, services);
  const { accountId } = account.caller;
  await services.accountLimiter.consume(`${operation.name} ${accountId}`, sale.ratePerMinute);
  const input = validate(operation, rawInput, call.transport);
  sale.check(input);
  const look = answerFree(sale, input, call, services);
  if (look !== null) return freeAnswer(look, sale, services);
  try {
    return await runPrepaid({ operation, prepaid: sale.prepaid, input }, account, services);
  } catch (error) {
    const isTooLow =
      error instanceof AppError && error.code === 'insufficient_balance' && error.param === undefined;
    if (!isTooLow || call.proofs === null || !isOnSale(sale, services)) throw error;
    return sellAnswer(order, call, services).catch((refusal: unknown) => {
      // Where there are no terms now, the call is refused as where nothing is sold by x402.
      throw refusal instanceof AppError ? error : refusal;
    });
  }
};

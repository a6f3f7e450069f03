import type { LiveJob } from '../jobs/job-runner.ts';
import { AppError } from '../kit/errors.ts';
import { noteRate } from '../limits/minute-limit.ts';
import { paymentInProgress } from '../payments/sale/answers.ts';
import { hasProof } from '../payments/sale/gate.ts';
import type { Answer } from './answer.ts';
import type { AccountCall, Call, Services } from './call.ts';
import { openPaidAnswer, refusalOf, type MadeAnswer } from './prepaid-answer.ts';
import { admit, answerEarlier, idempotencyOf, runPrepaid, type PrepaidOrder } from './prepaid.ts';
import { answerFree, isMadeUp, isOnSale } from './sale-rules.ts';
import type { BalanceAnswerSale } from './sale.ts';
import { freeAnswer, hashOf, sellAnswer, type AnswerOrder } from './sell-answer.ts';
import { buyerOf } from './sell-call.ts';
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
  const proofs = hasProof(call.proofs) ? call.proofs : null;
  const isKeyed = proofs !== null && call.idempotencyKey !== null;
  if (call.caller === null)
    return (isKeyed && services.config.wallets.isOn ? sellUnderKey : sellAnswer)(order, call, services);
  if (proofs !== null && !isKeyed) return sellAnswer(order, call, services);
  const account = await admit(call, services);
  const { accountId } = account.caller;
  const things = `calls of ${operation.name}`;
  noteRate(call, await services.accountLimiter.consume(accountId, sale.ratePerMinute, things));
  const input = validate(operation, rawInput, call.transport);
  const look = answerFree(sale, input, call, services);
  if (look !== null)
    return freeAnswer(look, sale, services, refusalOf(account, isMadeUp(sale, services)) === null);
  const prepaid = { operation, prepaid: sale.prepaid, input };
  if (proofs !== null && idempotencyOf(prepaid, account) !== null) {
    const known = await services.x402.findPayment({ proofs, requestHash: hashOf(operation, input) });
    const isNew = known === null || known.state === 'rejected';
    const earlier = isNew ? await answerEarlier(prepaid, account, services) : null;
    return earlier ?? sellUnderKey(order, account, services);
  }
  try {
    return await runPrepaid(prepaid, account, services);
  } catch (error) {
    const isTooLow =
      error instanceof AppError && error.code === 'insufficient_balance' && error.param === undefined;
    if (!isTooLow || call.proofs === null || !isOnSale(sale, services)) throw error;
    const answer = await sellAnswer(order, call, services).catch((refusal: unknown) => {
      // Where there are no terms now, the call is refused as where nothing is sold by x402.
      throw refusal instanceof AppError ? error : refusal;
    });
    return answer.kind === 'payment_required' ? { ...answer, page: error.page } : answer;
  }
};

/**
 * Sells an answer for a proof under an idempotency key of the caller, or of the account of the wallet that pays. A known
 * payment has its own answer. A known key with a new proof answers its job, and settles nothing. Else a job has the key
 * until the payment is settled, so that each other call with the key waits for this one.
 */
const sellUnderKey = async (
  order: AnswerOrder<BalanceAnswerSale>,
  call: Call,
  services: Services,
): Promise<Answer> => {
  const { operation, sale } = order;
  const own: { job?: LiveJob | null; taken?: [PrepaidOrder, AccountCall] } = {};
  const selling: Promise<Answer> = sellAnswer(
    order,
    call,
    services,
    async ({ identity, accountId }, input) => {
      const prepaid = { operation, prepaid: sale.prepaid, input };
      const caller = await buyerOf(accountId, { call, price: 0n }, services);
      const paid = { ...call, caller, payment: { identity, most: null } };
      const idempotency = idempotencyOf(prepaid, paid);
      const job = { name: operation.name, idempotency, produce: () => selling.then(toMade, notPaid) };
      own.job = await openPaidAnswer(job, paid, services);
      if (own.job !== null) return;
      own.taken = [prepaid, paid];
      throw paymentInProgress();
    },
  );
  const answer = await selling.catch(() =>
    own.taken === undefined ? null : answerEarlier(...own.taken, services),
  );
  // The key is free again when its job has ended, and a client may send the call anew once this one is answered. The job
  // runner logs a job that it lost.
  if (answer?.kind !== 'json') await own.job?.finished.catch(() => null);
  return answer ?? selling;
};

const notPaid = (): never => {
  throw new AppError(
    'payment_unavailable',
    'The call that came first with this Idempotency-Key is not paid. Send the request again.',
    { isLogged: true },
  );
};

const toMade = (answer: Answer): MadeAnswer =>
  answer.kind === 'json' ? { result: answer.body, charge: 0n, isSandbox: answer.isSandbox } : notPaid();

import { AppError } from '../kit/errors.ts';
import { sha256 } from '../kit/ids.ts';
import { canonicalJson, type JsonObject, writeKept } from '../kit/json.ts';
import { formatUsd } from '../kit/money.ts';
import type { Receipt } from '../payments/sale/gate.ts';
import type { Payment } from '../store/store.ts';
import { createMoreUri, jsonAnswer, type Answer, type AnswerParts, type JsonAnswer } from './answer.ts';
import type { Call, Services } from './call.ts';
import type { Operation } from './definition.ts';
import { assertOnSale, countCall, creditOf, toOrder, toTerms } from './paid-call.ts';
import { answerFree, isMadeUp, type PaidSale } from './sale-rules.ts';
import type { AnswerSale, BalanceAnswerSale, CreditSale, SignInSale } from './sale.ts';
import { validate } from './validate.ts';
import { assertNotDraining } from './prepaid.ts';

export interface AnswerOrder<Sold extends PaidSale = AnswerSale | BalanceAnswerSale> {
  operation: Operation;
  sale: Sold;
  rawInput: unknown;
}

/** Names the request of an answer: a proof pays one. */
export const hashOf = ({ name }: Operation, input: unknown): string =>
  sha256(`${name}\n${canonicalJson(input)}`);

/**
 * Sells an answer that is made before its payment is settled. `claim` is called with the verified payment, which names the
 * account of a wallet that has no key, before the answer is made; when it throws, nothing is charged and the error is passed
 * on.
 */
export const sellAnswer = async (
  { operation, sale, rawInput }: AnswerOrder,
  call: Call,
  services: Services,
  claim?: (payment: Payment, input: unknown) => Promise<void>,
): Promise<Answer> => {
  await countCall(operation, call, services);
  // Checked before payment is asked for: nobody pays for a request that cannot run.
  const input = validate(operation, rawInput, call.transport);
  const look = answerFree(sale, input, call, services);
  if (look !== null) return freeAnswer(look, sale, services);
  const quote = sale.quote(input, services);
  const requestHash = hashOf(operation, input);
  let made: JsonObject | null = null;
  const paid = await services.x402.sellAnswer({
    ...toOrder({ operation, sale, quote, requestHash }, call, services),
    ...(claim !== undefined && call.caller === null ? { owner: creditOf(null, services) } : {}),
    produce: async (signal, payment) => {
      // Checked after the proof was looked up, so that an answer that is paid for is still given out.
      assertNotDraining(services);
      assertOnSale(sale, services);
      await claim?.(payment, input);
      made = await sale.produce(input, services, signal);
      assertOnSale(sale, services, made);
      const text = writeKept(made);
      return sale.isFree(made, services) ? { free: text } : text;
    },
  });
  if (paid.outcome === 'unpaid') return toTerms({ sale, quote }, paid, services);
  const { receipt } = paid;
  const body =
    made ?? (await replay(sale, JSON.parse(paid.result), { services, signal: call.signal, receipt }));
  const answer = soldAnswer(body, { ...paid, isSandbox: isMadeUp(sale, services, body) });
  const { toText } = sale;
  if (toText === undefined) return answer;
  // What was paid may be a former price.
  const price = paid.paid && `$${services.x402.tokenAmount(paid.paid) ?? formatUsd(quote.price)}`;
  const moreUri = createMoreUri(services.config, { operation: operation.name, id: requestHash });
  return { ...answer, toText: () => toText(body, { price, moreUri }) };
};

/** Takes a payment that raises a balance, or signs a wallet in, which is free. */
export const takeCredit = async (
  { operation, sale, rawInput }: AnswerOrder<CreditSale | SignInSale>,
  call: Call,
  services: Services,
): Promise<Answer> => {
  await countCall(operation, call, services);
  const input = validate(operation, rawInput, call.transport);
  const signedIn = answerFree(sale, input, call, services);
  if (signedIn !== null) return freeAnswer(signedIn, sale, services);
  const credit = creditOf(call.caller, services);
  const quote = sale.quote(input, services);
  const answer = sale.answer(input);
  const requestHash = sha256(`${operation.name}\n${credit.accountId ?? ''}${canonicalJson(input)}`);
  const paid = await services.x402.takeCredit({
    ...toOrder({ operation, sale, quote, requestHash }, call, services),
    produce: async () => {
      assertNotDraining(services);
      assertOnSale(sale, services);
      return JSON.stringify(answer);
    },
    credit,
  });
  if (paid.outcome === 'unpaid') return toTerms({ sale, quote }, paid, services);
  const { accountId, identity, replayed } = paid;
  // Anybody can read a proof on the chain, so a repeated proof does not show the balance.
  const mayReadBalance = !replayed || call.caller !== null;
  const raised =
    accountId === null ? {} : await tellRaised({ accountId, identity, mayReadBalance }, services);
  return soldAnswer({ ...answer, ...raised }, { ...paid, isSandbox: isMadeUp(sale, services) });
};

/** Answers a call that is free of charge, although its operation is sold. `mayBuy`: the caller buys it from a balance. */
export const freeAnswer = async (
  answering: Promise<AnswerParts>,
  sale: PaidSale,
  services: Services,
  mayBuy = false,
): Promise<Answer> => {
  const { body, ...rest } = await answering;
  if (!mayBuy) assertOnSale(sale, services);
  return jsonAnswer(body, { ...rest, isSandbox: isMadeUp(sale, services) });
};

const soldAnswer = (
  body: JsonObject,
  { replayed, receipt, isSandbox }: { replayed: boolean; receipt: Receipt | undefined; isSandbox: boolean },
): JsonAnswer =>
  jsonAnswer(body, {
    headers: { 'cache-control': 'no-store', ...(replayed ? { 'idempotent-replayed': 'true' } : {}) },
    isSandbox,
    ...(receipt === undefined ? {} : { receipt }),
  });

/**
 * Says where the receipt of a payment is that raised a balance, and the balance. The money has moved, so the answer goes
 * out without the balance when the store fails.
 */
const tellRaised = async (
  raised: { accountId: string; identity: string; mayReadBalance: boolean },
  { store, log, publicUrl }: Services,
): Promise<JsonObject> => {
  const { accountId, identity } = raised;
  const address = { receipt_url: `${publicUrl()}/v1/receipts/${identity}` };
  try {
    const account = raised.mayReadBalance ? await store.getAccount(accountId) : null;
    return account === null
      ? address
      : { ...address, balance_usd: formatUsd(account.balance - account.held) };
  } catch (error) {
    log.error({ err: error, payment: identity }, 'the balance after a payment could not be read');
    return address;
  }
};

/** Filters an answer that is paid for. Throws AppError `payment_pending`. */
export const replay = async (
  sale: Pick<AnswerSale, 'replay'>,
  result: JsonObject,
  { services, signal, receipt }: { services: Services; signal: AbortSignal; receipt?: Receipt | undefined },
): Promise<JsonObject> => {
  try {
    return (await sale.replay?.(result, services, signal)) ?? result;
  } catch (cause) {
    signal.throwIfAborted();
    // A buyer who took this for a failed call, which costs nothing, would pay twice.
    throw new AppError(
      'payment_pending',
      'This is paid for, and its answer cannot be given out just now. Send the same request with the same payment proof, ' +
        'or the same Idempotency-Key, again to get it; do not pay again.',
      { cause, ...(receipt === undefined ? {} : { headers: receipt.headers }) },
    );
  }
};

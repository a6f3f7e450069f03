import { AppError } from '../kit/errors.ts';
import type { JsonObject } from '../kit/json.ts';
import type { Credit, PayOutcome } from '../payments/sale/gate.ts';
import type { PaymentRequiredAnswer } from './answer.ts';
import type { Call, Services } from './call.ts';
import type { Operation } from './definition.ts';
import { isMadeUp, isOnSale, type PaidSale } from './sale-rules.ts';
import type { Quote } from './sale.ts';
import type { Caller } from '../accounts/authenticate.ts';
import { addressBucket } from '../limits/address-limiter.ts';
import { noteRate } from '../limits/minute-limit.ts';

/** Counts a call without a key against the limit of its address. */
export const countCall = async (
  { name }: Pick<Operation, 'name'>,
  call: Call,
  { addressLimiters }: Services,
): Promise<void> => {
  const limiter = addressLimiters.get(name);
  if (limiter === undefined) throw new Error(`${name} is sold by x402 without a limit of calls`);
  noteRate(call, await limiter.consume(call.clientAddress));
};

/** A call that is about to be paid. */
export interface PaidCall {
  operation: Operation;
  sale: PaidSale;
  quote: Quote;
  /** Names the request: a proof pays one. */
  requestHash: string;
}

/** Tells a purchase all that it needs of its sale. */
export const toOrder = (
  { operation, sale, quote, requestHash }: PaidCall,
  call: Call,
  services: Services,
) => ({
  sale: operation.name,
  transport: call.transport,
  isSandbox: isMadeUp(sale, services),
  path: quote.paths?.[call.transport],
  price: quote.price,
  formerPrices: quote.formerPrices ?? { [sale.pricing]: quote.price },
  proofs: call.proofs,
  requestHash,
  signal: call.signal,
  costsMoney: 'costsMoney' in sale && sale.costsMoney,
  client: addressBucket(call.clientAddress),
});

/** Answers with the terms of a payment. */
export const toTerms = (
  { sale, quote }: Pick<PaidCall, 'sale' | 'quote'>,
  { challenge, receipt }: Extract<PayOutcome, { outcome: 'unpaid' }>,
  services: Services,
): PaymentRequiredAnswer => {
  assertOnSale(sale, services);
  return {
    kind: 'payment_required',
    isSandbox: isMadeUp(sale, services),
    challenge,
    ...(quote.parts === undefined ? {} : { quote: quote.parts }),
    ...(receipt === undefined ? {} : { receipt }),
  };
};

/** `result`: the answer that is about to be sold; absent: an answer that would be made now. Throws AppError. */
export const assertOnSale = (sale: PaidSale, services: Services, result: JsonObject | null = null): void => {
  if (isOnSale(sale, services, result)) return;
  throw new AppError(
    'upstream_unavailable',
    `This is not on sale now: only ${sale.sandbox.goods} are there, which are not sold for real money. ` +
      'Nothing was charged.',
    { retryAfterSeconds: notOnSaleSeconds },
  );
};

const notOnSaleSeconds = 300;

/** Says whose balance a payment raises. Throws AppError for an account that holds another kind of money. */
export const creditOf = (caller: Caller | null, { config }: Services): Credit => {
  const isSandbox = !config.x402.takesRealMoney;
  if (caller !== null && caller.isSandbox !== isSandbox)
    throw new AppError(
      'permission_denied',
      isSandbox
        ? 'This account holds real money, and only test money is taken here. Nothing was charged.'
        : 'This account holds sandbox credit, and only real money is taken here. Nothing was charged.',
    );
  return { accountId: caller?.accountId ?? null, isSandbox };
};

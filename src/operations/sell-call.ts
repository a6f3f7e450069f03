import { AppError, isTransient, toAppError, hasCode, instead } from '../kit/errors.ts';
import type { JsonObject } from '../kit/json.ts';
import { formatUsd, type Nano } from '../kit/money.ts';
import {
  type EarlierJob,
  admit,
  assertNotDraining,
  claimCall,
  findEarlier,
  requestHashOf,
  runPrepaid,
  type PrepaidOrder,
} from './prepaid.ts';
import { paymentInProgress, type Receipt } from '../payments/sale/answers.ts';
import { hasProof } from '../payments/sale/gate.ts';
import { maxOfOne } from '../payments/sale/scheme.ts';
import type { Payment, WalletAccount } from '../store/store.ts';
import type { Caller } from '../accounts/authenticate.ts';
import type { Answer } from './answer.ts';
import type { AccountCall, Call, Services } from './call.ts';
import type { Operation } from './definition.ts';
import { endWithReceipt, maxMeteredMs, meterCall } from './meter-call.ts';
import { assertOnSale, countCall, creditOf, toOrder, toTerms } from './paid-call.ts';
import { quoteOwed } from './per-call-sale.ts';
import { isOnSale } from './sale-rules.ts';
import type { PerCallSale, Quote } from './sale.ts';
import { validate } from './validate.ts';

interface PaidOrder extends PrepaidOrder {
  sale: PerCallSale;
}

/**
 * Sells a call of a prepaid operation: on the balance of a caller with a key; else, or where that does not suffice, for a
 * payment of its own.
 */
export const sellCall = async (
  { operation, sale, rawInput }: { operation: Operation; sale: PerCallSale; rawInput: unknown },
  call: Call,
  services: Services,
): Promise<Answer> => {
  const { prepaid } = sale;
  const toCall = (): PaidOrder => ({
    operation,
    sale,
    prepaid,
    input: validate(operation, rawInput, call.transport),
  });
  if (call.caller === null) {
    await countCall(operation, call, services);
    await services.catalogs.refresh();
    return payThenRun(toCall(), call, services);
  }
  const account = await admit(call, services);
  const order = toCall();
  if (hasProof(call.proofs)) {
    const requestHash = requestHashOf(order, account.caller.accountId);
    const known = await services.x402.findPayment({ proofs: call.proofs, requestHash });
    // A payment that has a job answers it, whatever the idempotency key. One that came without the API key does not.
    if (known !== null && known.jobId !== null && known.requestHash !== requestHashOf(order, null))
      return payThenRun(order, call, services);
    const earlier = await findEarlier(order, account, services);
    if (earlier?.outcome !== 'replayed') return payThenRun(order, call, services, earlier);
  }
  try {
    return await runPrepaid(order, account, services);
  } catch (error) {
    throw await withTerms(error, order, { call: account, services });
  }
};

/** Prices a call beside an earlier job of its key: an answer that is owed is sold for what is owed. */
const quoteOf = async (
  { sale, input }: PaidOrder,
  earlier: EarlierJob | null,
  { call, services }: { call: Call; services: Services },
): Promise<Quote> =>
  earlier?.outcome === 'owed'
    ? quoteOwed(earlier.job)
    : sale.quote(input, services, call.caller ?? undefined);

/** Prices a call as `quoteOf`, or, where it is not sold any more, as the payment for it that is settled or may be. */
const quotePaid = async (
  order: PaidOrder,
  { owed, requestHash }: { owed: EarlierJob | null; requestHash: string },
  of: { call: Call; services: Services },
): Promise<Quote> => {
  try {
    return await quoteOf(order, owed, of);
  } catch (error) {
    const { proofs } = of.call;
    const paid = hasProof(proofs) ? await of.services.x402.findPayment({ proofs, requestHash }) : null;
    const isOver = paid === null || paid.state === 'rejected' || paid.state === 'failed';
    if (isOver || paid.requestHash !== requestHash || paid.credit === null) throw error;
    return { price: paid.credit, unpaidMs: null };
  }
};

/**
 * Runs a prepaid call that is paid by itself. A proof for terms with a former price is served at that price. Prices that
 * change meanwhile are for later calls.
 */
const payThenRun = async (
  order: PaidOrder,
  call: Call,
  services: Services,
  owed: EarlierJob | null = null,
): Promise<Answer> => {
  const { catalogs, clock } = services;
  const paying = payAtPrices(order, call, { ...services, catalogs: { ...catalogs } }, owed);
  const answer = await paying.catch(unlessTooLittle);
  if (answer !== null && (answer.kind !== 'payment_required' || !hasProof(call.proofs))) return answer;
  for (const former of catalogs.former(clock.now())) {
    const formerly = { ...services, catalogs: { ...catalogs, ...former } };
    const before = await payAtPrices(order, call, formerly, owed).catch(unlessNotSold);
    if (before !== null && before.kind !== 'payment_required') return before;
  }
  return paying;
};

/** The price of a call that has not run has risen since it was paid. The rest of the balance is for other calls. */
class TooLittle extends AppError {
  constructor(price: Nano, paid: Nano) {
    super(
      'insufficient_balance',
      `This call costs up to $${formatUsd(price)} by now, and its payment is of $${formatUsd(paid)}. Send it again without ` +
        'this payment proof.',
    );
  }
}

/** Also where the refusal tells, too, that the payment is settled. */
const isTooLittle = (error: unknown): boolean =>
  error instanceof TooLittle || (error instanceof AppError && error.cause instanceof TooLittle);

const unlessTooLittle = instead(null, isTooLittle);
/** Null: the SKU was not sold then, or cost more. */
const unlessNotSold = instead(null, (error) => isTooLittle(error) || hasCode('model_not_found')(error));

/**
 * The payment raises the balance of the caller, or of the wallet's own account, by the most that the call can cost. Then
 * the call runs on that balance. The rest stays there. One payment runs one call.
 */
const payAtPrices = async (
  order: PaidOrder,
  call: Call,
  services: Services,
  owed: EarlierJob | null,
): Promise<Answer> => {
  const { operation, sale, prepaid, input } = order;
  const credit = creditOf(call.caller, services);
  const requestHash = requestHashOf(order, credit.accountId);
  const quote = await quotePaid(order, { owed, requestHash }, { call, services });
  const { price, unpaidMs: deadlineMs = services.config.chatDeadlineMs } = quote;
  const toPaid = async (
    { identity, accountId }: Pick<Payment, 'identity' | 'accountId'>,
    most: Nano | null,
  ): Promise<AccountCall> => ({
    ...call,
    caller: await buyerOf(accountId, { call, price }, services),
    payment: { identity, most },
  });
  const assertPaid = ({ credit }: Pick<Payment, 'credit'>): void => {
    if (credit !== null && credit < price) throw new TooLittle(price, credit);
  };
  const toPledged = (payment: Payment): Promise<AccountCall> => {
    assertNotDraining(services);
    assertOnSale(sale, services);
    return toPaid(payment, payment.credit ?? price);
  };
  const isMetered = call.caller === null && prepaid.waits === true && price <= maxOfOne;
  const metered =
    isMetered && deadlineMs !== null && deadlineMs <= maxMeteredMs
      ? meterCall(order, { deadlineMs, toAccount: toPledged }, services)
      : null;
  // An earlier job under the client's own key is answered, and nothing is settled, unless the job is owed.
  let isRepeat = false;
  // Set for a call that has no job yet.
  const fresh: { account?: AccountCall; checked?: unknown } = {};
  const paying = services.x402.takeCredit({
    ...toOrder({ operation, sale, quote, requestHash }, call, services),
    produce: async (_signal, payment) => {
      assertNotDraining(services);
      assertOnSale(sale, services);
      const account = await toPaid(payment, null);
      const isClaimed = await claimCall(order, { call: account, payment: payment.identity }, services);
      const earlier = await findEarlier(order, account, services);
      if (!isClaimed && earlier?.outcome !== 'replayed') throw paymentInProgress();
      isRepeat = earlier !== null && earlier.job.unpaidBy === null;
      if (earlier === null) {
        assertPaid(payment);
        fresh.checked = await sale.check(input, account, services);
        fresh.account = account;
      }
      return isRepeat ? { free: null } : null;
    },
    ...(metered === null ? {} : { upto: metered.sale }),
    credit,
  });
  const paid = await (metered === null ? paying : Promise.race([paying, metered.started]));
  if ('stream' in paid) return endWithReceipt(paid, paying);
  if (paid.outcome === 'unpaid') return toTerms({ sale, quote }, paid, services);
  const { receipt } = paid;
  const answered = metered?.answer() ?? null;
  if (answered !== null) return withReceipt(answered, receipt);
  const account = fresh.account ?? (await toPaid(paid, null));
  try {
    if (fresh.account === undefined && (await findEarlier(order, account, services)) === null)
      assertPaid(paid);
    const answer = await runPrepaid(order, account, services, fresh);
    const isPublic = paid.replayed && call.caller === null;
    return withReceipt(isPublic ? withoutBalance(answer, services) : answer, receipt);
  } catch (error) {
    if (isRepeat) throw error;
    const hasKey = call.caller !== null;
    throw paidFor(toAppError(error), { receipt, price: paid.credit ?? price, hasKey });
  }
};

/** The caller, or the wallet whose payment is verified or settled. */
export const buyerOf = async (
  accountId: string | null,
  { call: { caller }, price }: { call: Call; price: bigint },
  services: Services,
): Promise<Caller> => {
  if (caller !== null) return { ...caller, available: caller.available + price };
  const account = accountId === null ? null : await services.store.getWalletAccount(accountId);
  if (account === null) throw new Error('a payment was settled for a wallet without an account');
  // The call may not cost more than its own payment, whatever else the wallet has.
  return toWalletCaller(account, { available: price, services });
};

/** Makes the caller of a call that a wallet pays for without a key. Null: a wallet that has no account. */
export const toWalletCaller = (
  account: WalletAccount | null,
  { available, services: { config } }: { available: Nano; services: Pick<Services, 'config'> },
): Caller => ({
  accountId: account?.id ?? '',
  keyId: account?.keyId ?? '',
  available,
  terms: account?.terms ?? config.wallets.terms,
  isSandbox: account?.isSandbox ?? !config.x402.takesRealMoney,
  webhookSecret: null,
  limits: null,
});

/** Removes the balance from an answer, which anybody can get who has read the proof on the chain. */
export const withoutBalance = (answer: Answer, { config: { brand } }: Services): Answer => {
  if (answer.kind !== 'json' && answer.kind !== 'stream') return answer;
  const { [`x-${brand}-balance-usd`]: _balance, ...headers } = answer.headers;
  if (answer.kind === 'stream' || !('balance_remaining_usd' in Object(answer.body['usage'])))
    return { ...answer, headers };
  const { balance_remaining_usd: _remaining, ...usage } = Object(answer.body['usage']) as JsonObject;
  return { ...answer, headers, body: { ...answer.body, usage } };
};

const withReceipt = (answer: Answer, receipt: Receipt | undefined): Answer => {
  if (receipt === undefined) return answer;
  if (answer.kind === 'json') return { ...answer, receipt };
  if (answer.kind === 'stream')
    return { ...answer, headers: { ...answer.headers, ...receipt.headers, ...receipt.inDialect } };
  return answer;
};

/** Adds the state of the payment to a refusal. */
const paidFor = (
  error: AppError,
  { receipt, price, hasKey }: { receipt: Receipt | undefined; price: bigint; hasKey: boolean },
): AppError =>
  error.withMessage(
    `${error.message.replace(/[^.!?]$/, '$&.')} The payment of $${formatUsd(price)} is settled, and is balance of the ` +
      (hasKey ? 'account' : "wallet's account, which a sign-in opens") +
      (mayRunLater(error)
        ? ': send the same request with the same payment proof again, or use the balance with a key.'
        : '.'),
    receipt?.headers,
  );

/** Tells whether a call that was refused after its payment has no job, and may run for the same proof. */
const mayRunLater = ({ code }: AppError): boolean =>
  code === 'too_many_active_jobs' || (isTransient(code) && code !== 'outcome_unknown');

/** Adds to a refusal for want of balance how the same request can be paid at once. */
const withTerms = async (
  error: unknown,
  order: PaidOrder,
  { call, services }: { call: AccountCall; services: Services },
): Promise<unknown> => {
  if (!(error instanceof AppError) || error.code !== 'insufficient_balance' || error.param !== undefined)
    return error;
  const { operation, sale } = order;
  const earlier = await findEarlier(order, call, services);
  if (!isOnSale(sale, services) || call.caller.isSandbox === services.config.x402.takesRealMoney)
    return error;
  let offered: Awaited<ReturnType<Services['x402']['offer']>>;
  try {
    const quote = await quoteOf(order, earlier, { call, services });
    const requestHash = requestHashOf(order, call.caller.accountId);
    offered = await services.x402.offer(toOrder({ operation, sale, quote, requestHash }, call, services));
  } catch (refusal) {
    // The call cannot be paid by itself, so it is refused as where nothing is sold by x402.
    if (refusal instanceof AppError) return error;
    throw refusal;
  }
  const { header, inDialects } = offered;
  return error.withMessage(
    `${error.message} USDC is taken, too: POST /v1/topup, or send this request again with a payment proof for the terms ` +
      'in PAYMENT-REQUIRED, which tops the account up by them.',
    { 'payment-required': header, ...inDialects?.headers },
  );
};

import type { Caller } from '../accounts/caller.ts';
import { AppError, isTransient, toAppError } from '../kit/errors.ts';
import { sha256 } from '../kit/ids.ts';
import { canonicalJson, type JsonObject } from '../kit/json.ts';
import { writeKept } from '../kit/json-text.ts';
import { formatUsd, type Nano } from '../kit/money.ts';
import { paymentInProgress, type Receipt } from '../purchases/x402/x402-answers.ts';
import { hasProof, type Credit, type PayOutcome } from '../purchases/x402/x402-gate.ts';
import { maxOfOne } from '../purchases/x402/x402-upto.ts';
import type { Payment } from '../store/store.ts';
import { isOnSale } from './is-on-sale.ts';
import { endWithReceipt, maxMeteredMs, meterCall } from './meter-call.ts';
import {
  jsonAnswer,
  type AccountCall,
  type Answer,
  type Call,
  type Operation,
  type PaymentRequiredAnswer,
  type Services,
  type X402Sale,
} from './operation.ts';
import { saleAfter } from './per-call-sale.ts';
import {
  admit,
  assertNotDraining,
  claimCall,
  findEarlier,
  runPrepaid,
  type PrepaidOrder,
} from './prepaid-call.ts';
import { validate } from './validate.ts';

/** Sells one call whose answer is made before the payment is settled, or credits a payment. */
export const sellByX402 = async (
  { operation, sale, rawInput }: { operation: Operation; sale: X402Sale; rawInput: unknown },
  call: Call,
  services: Services,
): Promise<Answer> => {
  await countCall(operation, call, services);
  // Checked before payment is asked for: nobody pays for a request that cannot run.
  const input = validate(operation, rawInput, call.transport);
  sale.check(input, services);
  const look = sale.look?.(input, services, call.signal, call.signIn) ?? null;
  if (look !== null) {
    const body = await look;
    assertOnSale(sale, services, null);
    return jsonAnswer(body, { isSandbox: sale.isSandbox(services, null) });
  }
  let made: JsonObject | null = null;
  const credit = sale.isCredit === true ? creditOf(call, services) : null;
  const price = sale.price(input, services);
  const requestHash = sha256(`${operation.name}\n${credit?.accountId ?? ''}${canonicalJson(input)}`);
  const paid = await services.x402.pay({
    ...toRequest({ operation, sale, price, requestHash }, call, services),
    ...(sale.formerPrices === undefined ? {} : { formerPrices: sale.formerPrices(input) }),
    produce: async (signal) => {
      // Checked after the proof was looked up, so that an answer that is paid for is still given out.
      assertNotDraining(services);
      assertOnSale(sale, services, null);
      made = await sale.produce(input, services, signal);
      assertOnSale(sale, services, made);
      const text = writeKept(made);
      return sale.isFree(made, services) ? { free: text } : text;
    },
    ...(credit === null ? {} : { credit }),
    signal: call.signal,
  });
  if (paid.outcome === 'unpaid') return toTerms({ sale, input }, paid, services);
  const { receipt, accountId, identity } = paid;
  const sold =
    made ?? (await replay(sale, JSON.parse(paid.result), { services, signal: call.signal, receipt }));
  // A proof can be read on the chain, so its repetition alone does not tell the balance.
  const mayReadBalance = !paid.replayed || call.caller !== null;
  const raised =
    accountId === null ? {} : await tellRaised({ accountId, identity, mayReadBalance }, services);
  const body = accountId === null ? sold : { ...sold, ...raised };
  return jsonAnswer(body, {
    headers: { 'cache-control': 'no-store', ...(paid.replayed ? { 'idempotent-replayed': 'true' } : {}) },
    isSandbox: sale.isSandbox(services, body),
    ...(receipt === undefined ? {} : { receipt }),
  });
};

/** Tells a purchase all that it needs of its sale. */
const toRequest = (
  { operation, sale, ...sold }: { operation: Operation; sale: X402Sale; price: Nano; requestHash: string },
  { transport, proofs }: Call,
  services: Services,
) => {
  const formerPrices = { [sale.pricing]: sold.price };
  const isSandbox = sale.isSandbox(services, null);
  return { ...sold, sale: operation.name, transport, isSandbox, formerPrices, proofs };
};

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

/** `result`: the answer that is about to be sold; null: an answer that would be made now. */
const assertOnSale = (sale: X402Sale, services: Services, result: JsonObject | null): void => {
  if (isOnSale(sale, services, result)) return;
  throw new AppError(
    'upstream_unavailable',
    `This is not on sale now: only ${sale.sandbox.goods} are there, which are not sold for real money. ` +
      'Nothing was charged.',
    { retryAfterSeconds: notOnSaleSeconds },
  );
};

const notOnSaleSeconds = 300;

const replay = async (
  { replay: filter }: X402Sale,
  result: JsonObject,
  { services, signal, receipt }: { services: Services; signal: AbortSignal; receipt: Receipt | undefined },
): Promise<JsonObject> => {
  if (filter === undefined) return result;
  try {
    return await filter(result, services, signal);
  } catch (cause) {
    signal.throwIfAborted();
    // A buyer who took this for a failed call, which costs nothing, would pay twice.
    throw new AppError(
      'payment_pending',
      'This is paid for, and its answer cannot be given out just now. Send the same request with the same payment proof ' +
        'again to get it; do not pay again.',
      { cause, ...(receipt === undefined ? {} : { headers: receipt.headers }) },
    );
  }
};

/** Counts a call without a key against the limit of its address. */
export const countCall = async (
  { name }: Pick<Operation, 'name'>,
  call: Call,
  { addressLimiters }: Services,
): Promise<void> => {
  const limiter = addressLimiters.get(name);
  if (limiter === undefined) throw new Error(`${name} is sold by x402 without a limit of calls`);
  await limiter.consume(call.clientAddress);
};

const toTerms = (
  { sale, input, buyer }: { sale: X402Sale; input: unknown; buyer?: Caller | undefined },
  { challenge, receipt }: Extract<PayOutcome, { outcome: 'unpaid' }>,
  services: Services,
): PaymentRequiredAnswer => {
  assertOnSale(sale, services, null);
  return {
    kind: 'payment_required',
    isSandbox: sale.isSandbox(services, null),
    challenge,
    ...(sale.explain === undefined ? {} : { quote: sale.explain(input, services, buyer) }),
    ...(receipt === undefined ? {} : { receipt }),
  };
};

/** Says whose balance a payment raises. Throws AppError for an account that holds another kind of money. */
const creditOf = ({ caller }: Call, { config }: Services): Credit => {
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

interface PaidOrder extends PrepaidOrder {
  x402: X402Sale;
}

/**
 * Sells a call of a prepaid operation: on the balance of a caller with a key; else, or where that does not suffice, for a
 * payment of its own.
 */
export const sellPerCall = async (
  { rawInput, ...sold }: Omit<PaidOrder, 'input'> & { rawInput: unknown },
  call: Call,
  services: Services,
): Promise<Answer> => {
  if (call.caller === null) {
    await countCall(sold.operation, call, services);
    await services.catalogs.refresh();
    return payThenRun({ ...sold, input: validate(sold.operation, rawInput, call.transport) }, call, services);
  }
  const account = await admit(call, services);
  const order = { ...sold, input: validate(sold.operation, rawInput, call.transport) };
  if (hasProof(call.proofs)) {
    const requestHash = requestHashOf(order, account.caller.accountId);
    const known = await services.x402.findPayment({ proofs: call.proofs, requestHash });
    // A payment that has a job answers it, whatever the idempotency key. One that came without the API key does not.
    if (known !== null && known.jobId !== null && known.requestHash !== requestHashOf(order, null))
      return payThenRun(order, call, services);
    const earlier = await findEarlier(order, account, services);
    if (earlier?.outcome !== 'replayed')
      return payThenRun({ ...order, x402: saleAfter(earlier, order.x402) }, call, services);
  }
  try {
    return await runPrepaid(order, account, services);
  } catch (error) {
    throw await withTerms(error, order, { call: account, services });
  }
};

/**
 * Runs a prepaid call that is paid by itself. The payment raises the balance of the caller, or of the wallet's own account,
 * by the most that the call can cost. Then the call runs on that balance as every other; what it does not use stays there.
 * One payment runs one call.
 */
const payThenRun = async (
  { operation, prepaid, x402, input }: PaidOrder,
  call: Call,
  services: Services,
): Promise<Answer> => {
  const credit = creditOf(call, services);
  const buyer = call.caller ?? undefined;
  const price = x402.price(input, services, buyer);
  const order = { operation, prepaid, input };
  const requestHash = requestHashOf(order, credit.accountId);
  const toPaid = async (
    { identity, accountId }: Pick<Payment, 'identity' | 'accountId'>,
    most: Nano | null,
  ): Promise<AccountCall> => ({
    ...call,
    caller: await buyerOf(accountId, { call, price }, services),
    payment: { identity, most },
  });
  const toPledged = (payment: Payment): Promise<AccountCall> => {
    assertNotDraining(services);
    assertOnSale(x402, services, null);
    return toPaid(payment, payment.credit ?? price);
  };
  const isMetered =
    call.caller === null &&
    prepaid.perCall?.isMetered === true &&
    price <= maxOfOne &&
    services.config.chatDeadlineMs <= maxMeteredMs;
  const metered = isMetered ? meterCall(order, { ...call, toAccount: toPledged }, services) : null;
  // An earlier job under the client's own key is answered, and nothing is settled, unless the job is owed.
  let isRepeat = false;
  // The account of a call that has no job yet.
  let checked: AccountCall | null = null;
  const paying = services.x402.pay({
    ...toRequest({ operation, sale: x402, price, requestHash }, call, services),
    produce: async (_signal, payment) => {
      assertNotDraining(services);
      assertOnSale(x402, services, null);
      const account = await toPaid(payment, null);
      const isClaimed = await claimCall(order, { call: account, payment: payment.identity }, services);
      const earlier = await findEarlier(order, account, services);
      if (!isClaimed && earlier?.outcome !== 'replayed') throw paymentInProgress();
      isRepeat = earlier !== null && earlier.job.unpaidBy === null;
      if (earlier === null) {
        await prepaid.perCall?.check?.(input, account, services);
        checked = account;
      }
      return isRepeat ? { free: '{}' } : '{}';
    },
    ...(metered === null ? {} : { upto: metered.sale }),
    credit,
    signal: call.signal,
  });
  const paid = await (metered === null ? paying : Promise.race([paying, metered.started]));
  if ('stream' in paid) return endWithReceipt(paid, paying);
  if (paid.outcome === 'unpaid') return toTerms({ sale: x402, input, buyer }, paid, services);
  const { receipt } = paid;
  const answered = metered?.answer() ?? null;
  if (answered !== null) return withReceipt(answered, receipt);
  const account = checked ?? (await toPaid(paid, null));
  try {
    const answer = await runPrepaid(order, account, services, { isNew: checked !== null });
    const isPublic = paid.replayed && call.caller === null;
    return withReceipt(isPublic ? withoutBalance(answer, services) : answer, receipt);
  } catch (error) {
    if (isRepeat) throw error;
    throw paidFor(toAppError(error), { receipt, price, hasKey: call.caller !== null });
  }
};

/** `accountId`: the account that a payment raises; null for the one of the wallet that pays. */
const requestHashOf = ({ operation, prepaid, input }: PrepaidOrder, accountId: string | null): string =>
  sha256(`${operation.name}\n${accountId ?? ''}\n${canonicalJson(prepaid.idempotentPart(input))}`);

/** The caller, or the wallet whose payment is verified or settled. */
const buyerOf = async (
  accountId: string | null,
  { call: { caller }, price }: { call: Call; price: bigint },
  { store, config }: Services,
): Promise<AccountCall['caller']> => {
  if (caller !== null) return { ...caller, available: caller.available + price };
  const account = accountId === null ? null : await store.getWalletAccount(accountId);
  if (account === null) throw new Error('a payment was settled for a wallet without an account');
  const { id, keyId, terms, isSandbox } = account;
  return {
    accountId: id,
    keyId,
    // The call may not cost more than its own payment, whatever else the wallet has.
    available: price,
    terms: terms ?? config.wallets.terms,
    isSandbox,
    webhookSecret: null,
    limits: null,
  };
};

/** Leaves the balance out of an answer that anybody gets who read the proof on the chain. */
const withoutBalance = (answer: Answer, { config: { brand } }: Services): Answer => {
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
    return { ...answer, headers: { ...answer.headers, ...receipt.headers, ...receipt.mpp } };
  return answer;
};

/** Adds to a refusal what became of the payment. */
const paidFor = (
  error: AppError,
  { receipt, price, hasKey }: { receipt: Receipt | undefined; price: bigint; hasKey: boolean },
): AppError =>
  new AppError(
    error.code,
    `${error.message.replace(/[^.!?]$/, '$&.')} The payment of $${formatUsd(price)} is settled, and is balance of the ` +
      (hasKey ? 'account' : "wallet's account, which a sign-in opens") +
      (isTransient(error.code)
        ? ': send the same request with the same payment proof again, or use the balance with a key.'
        : '.'),
    {
      ...(error.param === undefined ? {} : { param: error.param }),
      ...(error.issues === undefined ? {} : { issues: error.issues }),
      ...(error.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: error.retryAfterSeconds }),
      headers: { ...error.headers, ...receipt?.headers },
      cause: error,
    },
  );

/** Adds to a refusal for want of balance how the same request can be paid at once. */
const withTerms = async (
  error: unknown,
  order: PaidOrder,
  { call, services }: { call: AccountCall; services: Services },
): Promise<unknown> => {
  if (!(error instanceof AppError) || error.code !== 'insufficient_balance' || error.param !== undefined)
    return error;
  const { operation, input } = order;
  const x402 = saleAfter(await findEarlier(order, call, services), order.x402);
  if (!isOnSale(x402, services) || call.caller.isSandbox === services.config.x402.takesRealMoney)
    return error;
  let offered: Awaited<ReturnType<Services['x402']['offer']>>;
  try {
    const price = x402.price(input, services, call.caller);
    const requestHash = requestHashOf(order, call.caller.accountId);
    offered = await services.x402.offer(
      toRequest({ operation, sale: x402, price, requestHash }, call, services),
    );
  } catch (refusal) {
    // The call cannot be paid by itself, so it is refused as where nothing is sold by x402.
    if (refusal instanceof AppError) return error;
    throw refusal;
  }
  const { header, mpp } = offered;
  return new AppError(
    error.code,
    `${error.message} USDC is taken, too: POST /v1/topup, or send this request again with a payment proof for the terms ` +
      'in PAYMENT-REQUIRED, which tops the account up by them.',
    {
      headers: { ...error.headers, 'payment-required': header, ...mpp?.headers },
      cause: error,
    },
  );
};

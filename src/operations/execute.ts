import { AppError, isTransient, messages } from '../kit/errors.ts';
import { sha256 } from '../kit/ids.ts';
import { canonicalJson, type JsonObject } from '../kit/json.ts';
import { parsedShare } from '../limits/memory-budget.ts';
import type { Receipt } from '../purchases/x402/x402-answers.ts';
import { findReplay } from '../purchases/prepaid.ts';
import {
  jsonAnswer,
  type AccountCall,
  type Answer,
  type Call,
  type Idempotency,
  type OpenedJob,
  type Operation,
  type PrepaidSale,
  type Services,
  type X402Sale,
} from './operation.ts';
import { isOnSale } from './is-on-sale.ts';
import { validate } from './validate.ts';

/**
 * Runs an operation for every transport: checks the caller and the input, takes the payment, works, answers. Throws
 * refusals as AppError. A missing x402 payment is an answer, because it carries terms.
 */
export const execute = (
  operation: Operation,
  rawInput: unknown,
  call: Call,
  services: Services,
): Promise<Answer> => {
  const perform = (): Promise<Answer> => run(operation, rawInput, call, services);
  return services.observeOperation?.(operation, call, perform) ?? perform();
};

const run = async (
  operation: Operation,
  rawInput: unknown,
  call: Call,
  services: Services,
): Promise<Answer> => {
  const { sale } = operation;
  if (sale === null) {
    const account = await admit(call, services);
    return operation.handle(validate(operation, rawInput), account, services);
  }
  const byX402 = (x402: X402Sale) => sellByX402({ operation, sale: x402, rawInput }, call, services);
  if (sale.prepaid === undefined) return byX402(sale.x402);
  if (sale.x402 !== undefined && call.caller === null) return byX402(sale.x402);
  const { prepaid } = sale;
  const account = await admit(call, services);
  const input = validate(operation, rawInput);
  const opened = await openOrReplay({ operation, prepaid, input }, account, services);
  const answering = prepaid.answer(opened, input, account, services);
  return opened.isReplayed ? markReplayed(answering) : answering;
};

/** Refuses new work in a process that ends. Reading goes on. */
const assertNotDraining = ({ jobs }: Services): void => {
  if (jobs.isDraining()) throw new AppError('shutting_down', messages.shutting_down);
};

type PrepaidOrder = { operation: Operation; prepaid: PrepaidSale; input: unknown };

/**
 * Opens the job. A job that was admitted earlier is answered before anything else is checked, so that a replay does not
 * depend on its SKU, the balance, or the addresses in its input.
 */
const openOrReplay = async (
  order: PrepaidOrder,
  call: AccountCall,
  services: Services,
): Promise<OpenedJob> => {
  const idempotency = idempotencyOf(order, call);
  const earlier = await findReplay(services, call.caller.accountId, idempotency);
  if (earlier !== null) {
    call.memory.settleBody(parsedShare);
    return { job: earlier, isReplayed: true };
  }
  try {
    assertNotDraining(services);
    return await order.prepaid.open(order.input, call, services, idempotency);
  } catch (error) {
    // The same request at the same time may have opened the job meanwhile, and taken the balance that this one needed.
    const twin =
      error instanceof AppError ? await findReplay(services, call.caller.accountId, idempotency) : null;
    if (twin === null) throw error;
    return { job: twin, isReplayed: true };
  }
};

/** Marks an answer as an earlier one. A refusal is final under its key unless it is transient, which frees the key. */
const markReplayed = async (answering: Promise<Answer>): Promise<Answer> => {
  const replayed = { 'idempotent-replayed': 'true' };
  try {
    const answer = await answering;
    if ('headers' in answer) Object.assign(answer.headers, replayed);
    return answer;
  } catch (error) {
    if (error instanceof AppError)
      Object.assign(error.headers, replayed, isTransient(error.code) ? {} : { 'x-should-retry': 'false' });
    throw error;
  }
};

const sellByX402 = async (
  { operation, sale, rawInput }: { operation: Operation; sale: X402Sale; rawInput: unknown },
  call: Call,
  services: Services,
): Promise<Answer> => {
  const limiter = services.addressLimiters.get(operation.name);
  if (limiter === undefined) throw new Error(`${operation.name} is sold by x402 without a limit of calls`);
  await limiter.consume(call.clientAddress);
  // Checked before payment is asked for: nobody pays for a request that cannot run.
  const input = validate(operation, rawInput);
  sale.check(input, services);
  const look = sale.look?.(input, services, call.signal) ?? null;
  if (look !== null) {
    const body = await look;
    assertOnSale(sale, services, null);
    return jsonAnswer(body, { isSandbox: sale.isSandbox(services, null) });
  }
  // Kept beside its text, so that a fresh answer is not parsed again.
  let made: JsonObject | null = null;
  const paid = await services.x402.pay({
    sale: operation.name,
    transport: call.transport,
    price: sale.price(input, services),
    priceUnder: (pricing) => sale.priceUnder(pricing, input, services),
    proofs: call.proofs,
    // Only a proof needs it.
    get requestHash() {
      return sha256(`${operation.name}\n${canonicalJson(input)}`);
    },
    produce: async (signal) => {
      // Checked after the proof was looked up, so that an answer that is paid for is still given out.
      assertNotDraining(services);
      assertOnSale(sale, services, null);
      made = await sale.produce(input, services, signal);
      assertOnSale(sale, services, made);
      return JSON.stringify(made);
    },
    isFree: () => made !== null && sale.isFree(made, services),
    signal: call.signal,
  });
  const { receipt } = paid;
  const withReceipt = receipt === undefined ? {} : { receipt };
  if (paid.outcome === 'unpaid') {
    assertOnSale(sale, services, null);
    return {
      kind: 'payment_required',
      isSandbox: sale.isSandbox(services, null),
      challenge: paid.challenge,
      ...withReceipt,
    };
  }
  const body =
    made ?? (await replay(sale, JSON.parse(paid.result), { services, signal: call.signal, receipt }));
  return jsonAnswer(body, {
    headers: { 'cache-control': 'no-store', ...(paid.replayed ? { 'idempotent-replayed': 'true' } : {}) },
    isSandbox: sale.isSandbox(services, body),
    ...withReceipt,
  });
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
    // Only a success carries the receipt of MPP.
    const { 'payment-receipt': _success, ...headers } = receipt?.headers ?? {};
    // A buyer who took this for a failed call, which costs nothing, would pay twice.
    throw new AppError(
      'payment_pending',
      'This is paid for, and its answer cannot be given out just now. Send the same request with the same payment proof ' +
        'again to get it; do not pay again.',
      { cause, headers },
    );
  }
};

/** The call with its account, counted against the account's limit. */
const admit = async (call: Call, { accountLimiter, catalogs }: Services): Promise<AccountCall> => {
  const { caller } = call;
  if (caller === null)
    throw new AppError(
      'invalid_api_key',
      'This needs an API key. Send it as "Authorization: Bearer <API_KEY>"; the operator of this service issues keys.',
    );
  await catalogs.refresh();
  await accountLimiter.consume(caller);
  return { ...call, caller };
};

/** In characters, over every transport. */
export const longestIdempotencyKey = 255;

const idempotencyOf = ({ operation, prepaid, input }: PrepaidOrder, call: Call): Idempotency | null => {
  const key = call.idempotencyKey;
  if (key === null) return null;
  if (key.length < 1 || key.length > longestIdempotencyKey)
    throw new AppError('invalid_parameter', 'Idempotency-Key: must be 1 to 255 characters', {
      param: 'Idempotency-Key',
      issues: [
        { loc: ['header', 'Idempotency-Key'], msg: 'must be 1 to 255 characters', type: 'value_error' },
      ],
    });
  return { endpoint: operation.name, key, bodyHash: sha256(canonicalJson(prepaid.idempotentPart(input))) };
};

import { AppError, isTransient } from '../kit/errors.ts';
import { sha256 } from '../kit/ids.ts';
import { canonicalJson, type JsonObject } from '../kit/json.ts';
import type { Receipt } from '../purchases/x402/x402-answers.ts';
import { findReplay } from '../purchases/prepaid.ts';
import type {
  AccountCall,
  Answer,
  Call,
  Idempotency,
  JobOperation,
  OpenedJob,
  Operation,
  PaidOperation,
  Services,
} from './operation.ts';
import { isOnSale } from './search/is-on-sale.ts';
import { validate } from './validate.ts';

/**
 * The one path of every operation, whatever the transport: who calls, is the input right, how is it paid, do it,
 * answer. Refusals are thrown as AppError; a missing x402 payment is an answer, as it carries terms.
 */
export const execute = async (
  operation: Operation,
  rawInput: unknown,
  call: Call,
  services: Services,
): Promise<Answer> => {
  switch (operation.payment) {
    case 'none': {
      const account = await admit(call, services);
      return operation.handle(validate(operation, rawInput), account, services);
    }
    case 'hold': {
      const account = await admit(call, services);
      const input = validate(operation, rawInput);
      const opened = await openOrReplay(operation, input, account, services);
      const answering = operation.answer(opened, input, account, services);
      return opened.isReplayed ? markReplayed(answering) : answering;
    }
    case 'x402':
      return executePaid(operation, rawInput, call, services);
  }
};

/** A process that ends begins no work; what is only read goes on. */
const assertNotDraining = ({ jobs }: Services): void => {
  if (jobs.isDraining()) throw new AppError('shutting_down', 'The service is restarting. Try again.');
};

/** What was admitted once is answered, although its SKU may be gone since, or an address that it names. */
const openOrReplay = async (
  operation: JobOperation,
  input: unknown,
  call: AccountCall,
  services: Services,
): Promise<OpenedJob> => {
  const idempotency = idempotencyOf(operation, input, call);
  try {
    assertNotDraining(services);
    return await operation.open(input, call, services, idempotency);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const job = await findReplay(services, call.caller.accountId, idempotency);
    if (job === null) throw error;
    return { job, isReplayed: true };
  }
};

/** Tells the client that this is an earlier answer. The same key only repeats a refusal, but for a transient one, which frees it. */
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

const executePaid = async (
  operation: PaidOperation,
  rawInput: unknown,
  call: Call,
  services: Services,
): Promise<Answer> => {
  await services.searchLimiter.consume(call.clientAddress);
  // Checked before payment is asked for: nobody pays for a request that cannot run.
  const input = validate(operation, rawInput);
  operation.check(input);
  // Kept beside its text, so that what was just made is not parsed again.
  let made: JsonObject | null = null;
  const paid = await services.x402.pay({
    price: operation.price(input),
    priceUnder: (pricing) => operation.priceUnder(pricing, input),
    resource: call.transport,
    proofs: call.proofs,
    requestHash: sha256(`${operation.name}\n${canonicalJson(input)}`),
    produce: async (signal) => {
      // After the proof was looked up: what is paid for already is still given out.
      assertNotDraining(services);
      assertOnSale(operation, services, null);
      made = await operation.produce(input, services, signal);
      assertOnSale(operation, services, made);
      return JSON.stringify(made);
    },
    isFree: () => made !== null && operation.isFree(made, services),
    signal: call.signal,
  });
  if (paid.outcome === 'unpaid') {
    assertOnSale(operation, services, null);
    return {
      kind: 'payment_required',
      isSandbox: operation.isSandbox(services, null),
      challenge: paid.challenge,
      ...(paid.receipt === undefined ? {} : { receipt: paid.receipt }),
    };
  }
  const result: JsonObject = made ?? JSON.parse(paid.result);
  const { receipt } = paid;
  const body =
    made === null ? await replay(operation, result, { services, signal: call.signal, receipt }) : result;
  return {
    kind: 'json',
    status: 200,
    body,
    headers: { 'cache-control': 'no-store', ...(paid.replayed ? { 'idempotent-replayed': 'true' } : {}) },
    isSandbox: operation.isSandbox(services, body),
    links: [],
    ...(paid.receipt === undefined ? {} : { receipt: paid.receipt }),
  };
};

/** `result` is what is about to be sold; null: whatever would be made now. */
const assertOnSale = (operation: PaidOperation, services: Services, result: JsonObject | null): void => {
  if (isOnSale(operation, services, result)) return;
  throw new AppError(
    'upstream_unavailable',
    'This is not on sale now: only fictional profiles are there, which are not sold for real money. Nothing was charged.',
    { retryAfterSeconds: notOnSaleSeconds },
  );
};

const notOnSaleSeconds = 300;

const replay = async (
  { replay: leaveOut }: PaidOperation,
  result: JsonObject,
  { services, signal, receipt }: { services: Services; signal: AbortSignal; receipt: Receipt | undefined },
): Promise<JsonObject> => {
  if (leaveOut === undefined) return result;
  try {
    return await leaveOut(result, services, signal);
  } catch (cause) {
    signal.throwIfAborted();
    // Whoever took this for a failed search, which costs nothing, would pay twice.
    throw new AppError(
      'payment_pending',
      'This is paid for, and its answer cannot be given out just now. Send the same request with the same payment proof ' +
        'again to get it; do not pay again.',
      { cause, ...(receipt === undefined ? {} : { headers: receipt.headers }) },
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

/** In characters, whatever the transport. */
export const longestIdempotencyKey = 255;

const idempotencyOf = (operation: JobOperation, input: unknown, call: Call): Idempotency | null => {
  const key = call.idempotencyKey;
  if (key === null) return null;
  if (key.length < 1 || key.length > longestIdempotencyKey)
    throw new AppError('invalid_parameter', 'Idempotency-Key: must be 1 to 255 characters', {
      param: 'Idempotency-Key',
      issues: [
        { loc: ['header', 'Idempotency-Key'], msg: 'must be 1 to 255 characters', type: 'value_error' },
      ],
    });
  return { endpoint: operation.name, key, bodyHash: sha256(canonicalJson(operation.idempotentPart(input))) };
};

import type { Caller } from '../accounts/caller.ts';
import { accountLimits } from '../accounts/catalog/catalog.ts';
import { AppError, isTransient, messages } from '../kit/errors.ts';
import { sha256 } from '../kit/ids.ts';
import { canonicalJson } from '../kit/json.ts';
import { parsedShare } from '../limits/memory-budget.ts';
import { findReplay, payOwed, type EarlierJob } from './prepaid.ts';
import type { Answer } from './answer.ts';
import type { AccountCall, Call, Idempotency, OpenedJob, Services } from './call.ts';
import type { Operation } from './definition.ts';
import type { PrepaidSale } from './sale.ts';
import type { Job } from '../store/store.ts';

/** Refuses new work in a process that ends. Reading goes on. */
export const assertNotDraining = ({ jobs }: Services): void => {
  if (jobs.isDraining()) throw new AppError('shutting_down', messages.shutting_down);
};

export type PrepaidOrder = { operation: Operation; prepaid: PrepaidSale; input: unknown };

/** Finds the job that was opened before with the call's payment or idempotency key; null for none. */
export const findEarlier = (
  order: PrepaidOrder,
  call: AccountCall,
  services: Services,
): Promise<EarlierJob | null> =>
  findReplay(services, {
    accountId: call.caller.accountId,
    idempotency: idempotencyOf(order, call),
    payment: call.payment?.identity ?? null,
  });

/** Claims the call for a payment that is about to be settled. False: another payment for it is under way. */
export const claimCall = async (
  order: PrepaidOrder,
  { call, payment }: { call: AccountCall; payment: string },
  { store, clock }: Services,
): Promise<boolean> => {
  const idempotency = idempotencyOf(order, call);
  const { accountId } = call.caller;
  return idempotency === null || store.claimCall({ ...idempotency, accountId, payment, now: clock.now() });
};

/**
 * Runs a prepaid call for an account. `onOpened` gets the job before it is answered. `isNew`: it is known to have had no job
 * when its payment was taken. Throws AppError.
 */
export const runPrepaid = async (
  order: PrepaidOrder,
  account: AccountCall,
  services: Services,
  { onOpened, isNew = false }: { onOpened?: (job: Job) => void; isNew?: boolean } = {},
): Promise<Answer> => {
  const opened = await openOrReplay(order, account, { services, isNew });
  onOpened?.(opened.job);
  const answering = order.prepaid.answer(opened, order.input, account, services);
  return opened.isReplayed ? markReplayed(answering) : answering;
};

/**
 * Opens the job. A job that was admitted earlier is answered before anything else is checked, so that a replay does not
 * depend on its SKU, the balance, or the addresses in its input.
 */
const openOrReplay = async (
  order: PrepaidOrder,
  call: AccountCall,
  { services, isNew }: { services: Services; isNew: boolean },
): Promise<OpenedJob> => {
  const earlier = isNew ? null : await replayEarlier(order, call, services);
  if (earlier !== null) {
    call.memory.settleBody(parsedShare);
    return earlier;
  }
  try {
    assertNotDraining(services);
    return await order.prepaid.open(order.input, call, services, idempotencyOf(order, call));
  } catch (error) {
    // The same request at the same time may have opened the job meanwhile, and taken the balance that this one needed.
    const twin = error instanceof AppError ? await replayEarlier(order, call, services) : null;
    if (twin === null) throw error;
    return twin;
  }
};

/** Returns the job that was opened before, and pays for it if it is owed; null for none. */
const replayEarlier = async (
  order: PrepaidOrder,
  call: AccountCall,
  services: Services,
): Promise<OpenedJob | null> => {
  const earlier = await findEarlier(order, call, services);
  if (earlier === null) return null;
  const { caller, payment = null } = call;
  const { job, outcome } = earlier;
  const paid = outcome === 'owed' ? await payOwed(services, { job, keyId: caller.keyId, payment }) : job;
  return { job: paid, isReplayed: true };
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

/** In characters, over every transport. */
export const longestIdempotencyKey = 255;

const idempotencyOf = (
  { operation, prepaid, input }: PrepaidOrder,
  call: AccountCall,
): Idempotency | null => {
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

/** Counts a call against the limit of its account. */
export const countAccountCall = async (caller: Caller, services: Services): Promise<void> =>
  services.accountLimiter.consume(caller.accountId, accountLimits(caller, services).requestsPerMinute);

/** The call with its account, counted against the account's limit. */
export const admit = async (call: Call, services: Services): Promise<AccountCall> => {
  const { caller } = call;
  if (caller === null)
    throw new AppError(
      'invalid_api_key',
      'This needs an API key. Send it as "Authorization: Bearer <API_KEY>"; the operator of this service issues keys.',
    );
  await services.catalogs.refresh();
  await countAccountCall(caller, services);
  return { ...call, caller };
};

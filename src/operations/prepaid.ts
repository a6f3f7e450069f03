import { AppError, isTransient, messages, wrongHeader } from '../kit/errors.ts';
import { formatUsd, type Nano } from '../kit/money.ts';
import { newJobRecord } from '../store/commands/job-table.ts';
import type { Job, NewJob, OpenJobInput, Store } from '../store/store.ts';
import { toIso, type Clock } from '../kit/clock.ts';
import { paymentInProgress } from '../payments/sale/answers.ts';
import { periodEnd, type Budget, shortBudget } from '../rules/key-limits.ts';
import { accountLimits } from '../accounts/catalog/catalog.ts';
import { newId, sha256 } from '../kit/ids.ts';
import { isTerminal } from '../jobs/public-job.ts';
import { canonicalJson } from '../kit/json.ts';
import { noteRate, type RateLeft } from '../limits/minute-limit.ts';
import { parsedShare } from '../limits/memory-budget.ts';
import type { Answer } from './answer.ts';
import { askPerson } from './ask-person.ts';
import type { AccountCall, Call, Idempotency, OpenedJob, Services } from './call.ts';
import type { Operation } from './definition.ts';
import type { PrepaidSale } from './sale.ts';
import type { Caller } from '../accounts/authenticate.ts';

/** Idempotency keys are kept this long; the contract promises at least 24 hours. */
const idempotencyLifeMs = 48 * 3_600_000;

/** The Retry-After of an account with too many active jobs. */
const activeRetrySeconds = 10;

export interface JobOrder {
  job: Omit<NewJob, 'usageTag'>;
  /** The worst-case price, held until the job ends. */
  hold: Nano;
  /** The caller's Idempotency-Key with the hash of the canonical request. */
  idempotency: Idempotency | null;
  /** The most jobs of this kind that the account may have queued or running, with this one. Default: no limit. */
  activeLimit?: number;
  /** Ids of the reserved media that the job uses. */
  inputs?: readonly string[];
}

export type PrepaidOpened =
  | { outcome: 'opened' | 'replayed'; job: Job; available: Nano }
  /** The balance, or `budget`, a budget of the key, does not cover the hold; nothing was written. */
  | { outcome: 'insufficient'; available: Nano; budget?: Budget; now: number };

/** Makes a job that this process runs at once, and nobody takes up again. */
export const runningJob = (
  { caller }: Pick<AccountCall, 'caller'>,
  { deadlineMs, ...own }: Pick<NewJob, 'kind' | 'model'> & Partial<JobOrder['job']> & { deadlineMs: number },
  { jobs, clock }: Pick<Services, 'jobs' | 'clock'>,
): JobOrder['job'] => {
  const now = clock.now();
  return {
    id: newId(),
    accountId: caller.accountId,
    keyId: caller.keyId,
    status: 'running',
    ...jobs.newLease(),
    maxAttempts: 1,
    deadlineAt: now + deadlineMs,
    request: '',
    customData: null,
    parameters: null,
    webhookUrl: null,
    isBudgeted: caller.limits?.isBudgeted === true,
    ...own,
  };
};

/**
 * Admits a prepaid job: payment, idempotency, confirmation, hold and job row in one durable unit. If a payment of the call
 * has a `most`, the balance holds nothing. Throws AppError `idempotency_conflict` when the key was used with another
 * request, `payment_in_progress` when another payment for its job is under way, `confirmation_required` when a person has
 * to confirm the call, and `invalid_api_key` when the key or account may not spend any more.
 */
export const openPrepaid = async (
  { store, clock, usageTags }: Pick<Services, 'store' | 'clock' | 'usageTags'>,
  {
    caller,
    payment,
    asksAbove,
    usageTag,
  }: Pick<AccountCall, 'payment' | 'asksAbove' | 'usageTag'> & { caller: Pick<Caller, 'usageTag'> },
  order: JobOrder,
): Promise<PrepaidOpened> => {
  const now = clock.now();
  const most = payment?.most ?? null;
  const pledged = most === null || most < order.hold ? most : order.hold;
  const tag = usageTag ?? caller.usageTag ?? null;
  const input: OpenJobInput = {
    job: { ...order.job, usageTag: tag && (await usageTags.resolve(order.job.accountId, tag, now)) },
    hold: most === null ? order.hold : 0n,
    payment: payment === undefined ? null : { ...payment, most: pledged },
    needsConfirmed: asksAbove !== undefined && order.hold > asksAbove.limit ? asksAbove.callHash : null,
    idempotency:
      order.idempotency === null ? null : { ...order.idempotency, expiresAt: now + idempotencyLifeMs },
    activeLimit: order.activeLimit ?? null,
    inputs: order.inputs ?? [],
    now,
  };
  const opened = await store.openJob(input);
  if (opened.outcome === 'conflict') throw idempotencyConflict();
  if (opened.outcome === 'unsettled') throw paymentInProgress();
  if (opened.outcome === 'too_many_active') throw tooManyActive();
  if (opened.outcome === 'forbidden') throw keyInvalid();
  if (opened.outcome === 'unconfirmed') throw unconfirmed(order, asksAbove?.limit ?? 0n);
  if (opened.outcome === 'insufficient') return { ...opened, now };
  return opened.outcome === 'opened' ? { ...opened, job: newJobRecord(input) } : opened;
};

const unconfirmed = ({ job: { model }, hold: most }: JobOrder, limit: Nano): AppError =>
  new AppError(
    'confirmation_required',
    `This call may cost up to $${formatUsd(most)}. Calls of this assistant that may cost more than $${formatUsd(limit)} ` +
      'need a confirmation by the person. Nothing was charged.',
    { waits: { most, model } },
  );

const keyInvalid = (): AppError =>
  new AppError('invalid_api_key', 'The API key is not valid any more. Ask the operator for a new one.');

const idempotencyConflict = (): AppError =>
  new AppError(
    'idempotency_conflict',
    'This Idempotency-Key was used with a different request. Use a new key for a new request.',
    // Without it, OpenAI's clients repeat a 409 by themselves.
    { headers: { 'x-should-retry': 'false' } },
  );

/** A job that was opened before. `owed`: its own payment did not pay for it, so its answer is withheld. */
export interface EarlierJob {
  outcome: 'replayed' | 'owed';
  job: Job;
}

/**
 * Finds the job that this payment or idempotency key opened before; null when both are free. Used where the checks of a
 * request reach outside the gateway: a replay must not depend on them. Throws like `openPrepaid`.
 */
export const findReplay = async (
  { store, clock }: { store: Pick<Store, 'findReplay'>; clock: Clock },
  sought: { accountId: string; payment: string | null } & Pick<JobOrder, 'idempotency'>,
): Promise<EarlierJob | null> => {
  if (sought.idempotency === null && sought.payment === null) return null;
  const found = await store.findReplay({ ...sought, now: clock.now() });
  if (found?.outcome === 'conflict') throw idempotencyConflict();
  if (found?.outcome === 'unsettled') throw paymentInProgress();
  return found;
};

/**
 * Pays for a job that is owed from the balance, to which a payment of the call may have added. Without one, a caller whose
 * limits would not count the charge pays nothing. Throws AppError like `openPrepaid`, and `insufficient_balance`.
 */
const payOwed = async (
  { store, clock }: { store: Store; clock: Clock },
  job: Job,
  { caller: { keyId, limits, askAbove }, payment }: AccountCall,
): Promise<Job> => {
  const isLimited = limits?.isBudgeted === true || job.charged > (askAbove ?? job.charged);
  const paid =
    isLimited && payment === undefined
      ? null
      : await store.payOwedJob({ job, keyId, payment: payment ?? null, now: clock.now() });
  if (paid?.outcome === 'replayed') return paid.job;
  if (paid?.outcome === 'unsettled') throw paymentInProgress();
  if (paid?.outcome === 'forbidden') throw keyInvalid();
  throw new AppError(
    'insufficient_balance',
    `This call was made, and its answer is withheld because its payment failed. It needs $${formatUsd(job.charged)} of ` +
      (paid === null
        ? 'balance, which only a key without limits pays: send the same request with such a key.'
        : `balance and the account has $${formatUsd(paid.available)} available. Top up the account, and send the same ` +
          'request again.'),
  );
};

/** Refuses a job because too many of its kind are active. */
export const tooManyActive = (
  message = 'This account has as many jobs of this kind under way as it may. Wait until one ends.',
): AppError => new AppError('too_many_active_jobs', message, { retryAfterSeconds: activeRetrySeconds });

/**
 * Refuses a request that `openPrepaid` could not hold for. `needed` is its smallest hold. The envelope's `param` names the
 * budget, if that is short.
 */
export const insufficient = ({
  needed,
  available,
  budget,
  now,
}: Extract<PrepaidOpened, { outcome: 'insufficient' }> & { needed: Nano }): AppError => {
  if (budget === undefined)
    return new AppError(
      'insufficient_balance',
      `The request needs $${formatUsd(needed)} of balance and the account has $${formatUsd(available)} available. ` +
        'Top up the account, or ask for something that costs less.',
      { waits: { most: needed, model: null } },
    );
  const { period, limit, spent, held } = budget;
  const end = periodEnd(period, now);
  return new AppError(
    'insufficient_balance',
    `The request needs $${formatUsd(needed)}, which the budget of this key or connection does not cover: of $${formatUsd(limit)} ` +
      `${period === 'total' ? 'in all' : `a ${period}`}, $${formatUsd(spent)} is spent and $${formatUsd(held)} is held ` +
      `for running jobs. ${end === null ? '' : `The budget resets at ${toIso(end)}. `}` +
      'Raise it, or ask for something that costs less.',
    { param: `budget_${period}_usd` },
  );
};

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

/** A call that takes a task waits this long for a job that runs, so that a short one is answered at once. */
const taskAfterMs = 2_000;

/**
 * Runs a prepaid call for an account. `onOpened` gets the job before it is answered. `checked`: what the sale's `check` found
 * when the payment was taken, and the call had no job. Throws AppError.
 */
export const runPrepaid = async (
  order: PrepaidOrder,
  account: AccountCall,
  services: Services,
  { onOpened, checked }: { onOpened?: (job: Job) => void; checked?: unknown } = {},
): Promise<Answer> => {
  const opened = await openOrReplay(order, account, { services, checked });
  onOpened?.(opened.job);
  const { job } = opened;
  if (account.takesTask === true && !isTerminal(job)) {
    if (job.status === 'queued') return { kind: 'task', job };
    opened.job = await services.jobs.wait({ job, timeoutMs: taskAfterMs, signal: account.signal });
    if (!isTerminal(opened.job)) return { kind: 'task', job: opened.job };
  }
  const answering = order.prepaid.answer(opened, order.input, account, services);
  return opened.isReplayed ? markReplayed(answering) : answering;
};

/** Answers the job that was opened before with the call's idempotency key; null for none. Throws AppError. */
export const answerEarlier = async (
  order: PrepaidOrder,
  call: AccountCall,
  services: Services,
): Promise<Answer | null> => {
  const earlier = await replayEarlier(order, call, services);
  return earlier && markReplayed(order.prepaid.answer(earlier, order.input, call, services));
};

/**
 * Opens the job. A job that was admitted earlier is answered before anything else is checked, so that a replay does not
 * depend on its SKU, the balance, or the addresses in its input.
 */
const openOrReplay = async (
  order: PrepaidOrder,
  call: AccountCall,
  { services, checked }: { services: Services; checked: unknown },
): Promise<OpenedJob> => {
  const earlier = checked !== undefined ? null : await replayEarlier(order, call, services);
  if (earlier !== null) {
    call.memory.settleBody(parsedShare);
    return earlier;
  }
  try {
    assertNotDraining(services);
    const idempotency = idempotencyOf(order, call);
    return await order.prepaid.open(order.input, toAsking(order, call), services, { idempotency, checked });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // The same request at the same time may have opened the job meanwhile, and taken the balance that this one needed.
    const twin = await replayEarlier(order, call, services);
    if (twin !== null) return twin;
    const callHash = (): string => requestHashOf(order, call.caller.accountId);
    throw await askPerson(error, { operation: order.operation.name, callHash }, call, services);
  }
};

/** Whoever pays a call by itself has agreed to its price. */
const toAsking = (order: PrepaidOrder, call: AccountCall): AccountCall => {
  const { accountId, askAbove: limit = null } = call.caller;
  return limit === null || call.payment !== undefined
    ? call
    : { ...call, asksAbove: { limit, callHash: requestHashOf(order, accountId) } };
};

/** Names a request. `accountId`: the account whose balance pays it; null: the account of the wallet that pays. */
export const requestHashOf = (
  { operation, prepaid, input }: PrepaidOrder,
  accountId: string | null,
): string => sha256(`${operation.name}\n${accountId ?? ''}\n${canonicalJson(prepaid.idempotentPart(input))}`);

/** Returns the job that was opened before, and pays for it if it is owed; null for none. */
const replayEarlier = async (
  order: PrepaidOrder,
  call: AccountCall,
  services: Services,
): Promise<OpenedJob | null> => {
  const earlier = await findEarlier(order, call, services);
  if (earlier === null) return null;
  const { job, outcome } = earlier;
  return { job: outcome === 'owed' ? await payOwed(services, job, call) : job, isReplayed: true };
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

export const idempotencyOf = (
  { operation, prepaid, input }: PrepaidOrder,
  call: AccountCall,
): Idempotency | null => {
  const key = call.idempotencyKey;
  if (key === null) return null;
  if (key.length < 1 || key.length > longestIdempotencyKey)
    throw wrongHeader('Idempotency-Key', `must be 1 to ${longestIdempotencyKey} characters`);
  return { endpoint: operation.name, key, bodyHash: sha256(canonicalJson(prepaid.idempotentPart(input))) };
};

/** Counts a call against the limit of its account. Returns what is left. */
export const countAccountCall = (caller: Caller, services: Services): Promise<RateLeft> =>
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
  noteRate(call, await countAccountCall(caller, services));
  return { ...call, caller };
};

/**
 * Refuses early, before inputs are downloaded, a request that the balance or a budget of the key does not cover. The
 * store decides finally. Throws AppError `insufficient_balance`.
 */
export const assertAffordable = async (
  needed: Nano,
  { caller: { available, keyId, limits } }: AccountCall,
  { store, clock }: Pick<Services, 'store' | 'clock'>,
): Promise<void> => {
  const now = clock.now();
  const short =
    limits?.isBudgeted === true
      ? shortBudget(await store.listCountedKeys({ keyId, time: now }), needed)
      : null;
  if (short !== null || available < needed)
    throw insufficient({ outcome: 'insufficient', available, ...short, needed, now });
};

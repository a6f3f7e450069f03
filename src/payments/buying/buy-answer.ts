import { z } from 'zod';
import { isUnsent } from '../../http/outbound.ts';
import { PurchaseError } from '../../http/pay-settings.ts';
import { type AnswerHead, retryAfterMs } from '../../http/send-request.ts';
import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import { pause } from '../../kit/repeat.ts';
import {
  encodeBase64Json,
  parseBase64Json,
  type PaymentPayload,
  type PaymentRequirements,
} from '../chains/core/wire.ts';
import { findFamily } from '../chains/networks.ts';
import type { FoundOutcome } from '../chains/core/facilitator.ts';
import { createJsonRpc } from '../chains/core/json-rpc.ts';
import { buyingJob } from '../../rules/jobs.ts';
import type { BoughtPayment, BoughtPaymentState, Store } from '../../store/store.ts';
import { chooseOffer, readRequired } from './choose-offer.ts';
import type { BuyingNetwork, BuyingWallet } from './open-wallet.ts';

export interface PaidCall extends Pick<
  BoughtPayment,
  'upstream' | 'request' | 'operation' | 'jobId' | 'soldPayment'
> {
  signal: AbortSignal | null;
  /** What it is sold for: nothing above it is paid. Undefined: it is not compared. */
  maxPrice?: Nano;
}

export interface Exchanged<Answer extends AnswerHead> {
  answer: Answer;
  isWhole: Promise<boolean> | true;
}

/** Sends the request with these headers. Drops an answer that is not `isForCaller`. Throws as the HTTP client does. */
export type Exchange<Answer extends AnswerHead> = (
  headers: Record<string, string>,
  isForCaller: (status: number) => boolean,
) => Promise<Exchanged<Answer>>;

export interface BuyContext {
  store: Store;
  clock: Clock;
  log: Log;
  wallet: BuyingWallet;
  maxPerDay: Nano;
  noteProblem: (upstream: string, problem: string) => void;
}

/** A search waits at most two minutes for its sources. Jobs have leases of their own. */
const leaseMs = 180_000;
/** A search that is asked again soon gets the answer that was paid for; later it would be stale. */
const resumeMs = 600_000;
/** After a proof has expired, its chain has a little time to show it. */
const checkMarginMs = 120_000;
/** How often a proof is sent for one call, when the upstream is busy or fails. */
const maxSends = 3;
const firstPauseMs = 500;
const longestPauseMs = 10_000;

const isGood = (status: number): boolean => status >= 200 && status <= 299;
/** Faults of the request itself: no other upstream would answer it. */
const isFault = (status: number): boolean => [400, 413, 415, 422].includes(status);
const isPassing = (status: number): boolean => [408, 409, 425, 429].includes(status) || status >= 500;
const needsNoPayment = (status: number): boolean => status !== 402;
const endsPayment = (status: number): boolean => isGood(status) || isFault(status);

/**
 * Gets an answer that may have to be paid. Asks without a proof first, except where an earlier call of the same job or
 * search left one: then that is sent again, as the upstream answers it without a second charge. A new proof is signed only
 * if no earlier one can be taken, and is written down before it is sent. Throws PurchaseError, or as the exchange does.
 */
export const buyAnswer = async <Answer extends AnswerHead>(
  context: BuyContext,
  call: PaidCall,
  exchange: Exchange<Answer>,
): Promise<Answer> => {
  const earlier = await resume(context, call);
  if (earlier !== null) {
    const again = await present(context, { call, payment: earlier, isNew: false }, exchange);
    if (endsPayment(again.status)) return again;
    // Throws, unless the earlier proof cannot be taken any more.
    await endRefused(context, call, earlier, again);
    return buyAnew(context, { call, refusal: again }, exchange);
  }
  const { answer } = await exchange({}, needsNoPayment);
  return needsNoPayment(answer.status) ? answer : buyAnew(context, { call, refusal: answer }, exchange);
};

const resume = (
  { store, clock }: BuyContext,
  { request, operation, jobId, soldPayment }: PaidCall,
): Promise<BoughtPayment | null> => {
  const now = clock.now();
  return store.resumeBoughtPayment({
    request,
    operation,
    jobId,
    soldPayment,
    now,
    leaseUntil: now + leaseMs,
    createdAfter: now - resumeMs,
  });
};

const buyAnew = async <Answer extends AnswerHead>(
  context: BuyContext,
  { call, refusal }: { call: PaidCall; refusal: AnswerHead },
  exchange: Exchange<Answer>,
): Promise<Answer> => {
  const signed = await signAndRecord(context, call, refusal);
  const answer = await present(context, { call, ...signed }, exchange);
  if (!endsPayment(answer.status)) await endRefused(context, call, signed.payment, answer);
  return answer;
};

/** Signs a proof and writes it down. Where another attempt at the same job was first, returns the proof of that one. */
const signAndRecord = async (
  context: BuyContext,
  call: PaidCall,
  { headers }: AnswerHead,
): Promise<Pick<Presented, 'payment' | 'isNew'>> => {
  const { store, clock, log, wallet, maxPerDay, noteProblem } = context;
  const { signal, maxPrice, ...record } = call;
  const { upstream } = call;
  try {
    const offer = chooseOffer(headers['payment-required'], { ...wallet, maxPrice });
    const { payload, identity } = await wallet.sign(offer, signal);
    const { requirements, price } = offer;
    const now = clock.now();
    const outcome = await store.recordBoughtPayment({
      ...record,
      identity,
      network: requirements.network,
      asset: requirements.asset,
      payTo: requirements.payTo,
      amount: BigInt(requirements.amount),
      price,
      payload: JSON.stringify(payload),
      requirements: JSON.stringify(requirements),
      leaseUntil: now + leaseMs,
      checkAt: now + requirements.maxTimeoutSeconds * 1_000 + checkMarginMs,
      maxPerDay,
      now,
    });
    if (outcome === 'over_budget')
      throw new PurchaseError(
        `${upstream}: the budget of the day, ${formatUsd(maxPerDay)} USD, does not suffice for ${formatUsd(price)} USD`,
        { mayBePaid: false },
      );
    const isNew = outcome === 'recorded';
    const payment = isNew ? await store.getBoughtPayment(identity) : await resume(context, call);
    if (payment === null) throw new Error('a payment that was just written down is gone');
    if (isNew)
      log.info(
        { upstream, payment: identity, price: formatUsd(price), jobId: call.jobId },
        'an upstream is paid',
      );
    return { payment, isNew };
  } catch (error) {
    signal?.throwIfAborted();
    noteProblem(upstream, error instanceof Error ? error.message : String(error));
    if (error instanceof PurchaseError) throw error;
    throw new PurchaseError(`${upstream}: no payment could be made`, { mayBePaid: false, cause: error });
  }
};

interface Presented {
  call: PaidCall;
  payment: BoughtPayment;
  /** The upstream cannot know the proof yet, unless another attempt at the same job has sent it. */
  isNew: boolean;
}

/** Sends a proof until the upstream decides: returns a good answer, a fault of the request, or a 402. */
const present = async <Answer extends AnswerHead>(
  context: BuyContext,
  { call, payment, isNew }: Presented,
  exchange: Exchange<Answer>,
): Promise<Answer> => {
  const proof = { 'payment-signature': encodeBase64Json(JSON.parse(payment.payload)) };
  for (let sends = 1; ; sends += 1) {
    let exchanged: Exchanged<Answer>;
    try {
      exchanged = await exchange(proof, endsPayment);
    } catch (error) {
      throw await endUnanswered(context, payment, { error, isUnknown: isNew && sends === 1 });
    }
    const { answer, isWhole } = exchanged;
    const { status, headers } = answer;
    if (isGood(status)) {
      const noted = noteAnswer(context, payment, exchanged);
      // A body that is still to be read ends later.
      if (isWhole === true) await noted;
      return answer;
    }
    if (isFault(status) || status === 402) {
      if (isFault(status)) await change(context, payment, 'sent', { reason: `answered ${status}` });
      return answer;
    }
    if (!isPassing(status) || sends === maxSends) {
      await change(context, payment, 'sent', { reason: `answered ${status}` });
      throw new PurchaseError(`${call.upstream}: a paid request was answered with ${status}`, {
        mayBePaid: true,
      });
    }
    const waitMs = retryAfterMs(headers['retry-after'], context.clock.now()) ?? firstPauseMs * 2 ** sends;
    await pause(Math.min(waitMs, longestPauseMs), call.signal ?? undefined);
  }
};

/** Ends a call without an answer. Returns the error to throw: no other upstream may be asked, unless nothing was sent. */
const endUnanswered = async (
  context: BuyContext,
  payment: BoughtPayment,
  { error, isUnknown }: { error: unknown; isUnknown: boolean },
): Promise<unknown> => {
  if (isUnsent(error) && isUnknown) {
    // Another attempt at the same job may have sent it in the meantime.
    const { leaseUntil } = payment;
    if (await change(context, payment, 'unused', { reason: error.message, leaseUntil })) return error;
  } else await change(context, payment, 'sent', { reason: error instanceof Error ? error.message : null });
  return isUnsent(error)
    ? new PurchaseError('a paid upstream could not be reached again', { mayBePaid: true, cause: error })
    : error;
};

/**
 * Ends a proof that the upstream does not take. Returns if it is proven that it was not and cannot be taken, or if it was
 * taken for another search. Throws PurchaseError otherwise: the upstream could still take it, or a job would pay twice.
 */
const endRefused = async (
  context: BuyContext,
  call: PaidCall,
  payment: BoughtPayment,
  { headers }: AnswerHead,
): Promise<void> => {
  const { upstream } = call;
  const found = await findBoughtOutcome(payment, { ...context, networks: context.wallet.networks });
  const told = readRequired(headers['payment-required'])?.error ?? 'no reason was told';
  if (found.outcome === 'failed')
    return void (await change(context, payment, 'unused', { reason: found.reason }));
  if (found.outcome === 'settled')
    await change(context, payment, 'lost', {
      transaction: found.transaction,
      reason: `the upstream gives no answer for it: ${told}`,
    });
  else await change(context, payment, 'sent', { reason: `refused: ${told}` });
  if (found.outcome === 'settled' && buyingJob(call) === null) return;
  const message = `${upstream}: the upstream does not take a proof: ${told}`;
  context.noteProblem(upstream, message);
  throw new PurchaseError(message, { mayBePaid: true });
};

const receiptSchema = z.object({ success: z.literal(true), transaction: z.string().max(200) });

/** Returns the transaction that the upstream names; null for none. It may give an answer away. */
const readTransaction = ({ headers }: AnswerHead, { network }: BoughtPayment): string | null => {
  const { transaction } = receiptSchema.safeParse(parseBase64Json(headers['payment-response'])).data ?? {};
  const isKnown = transaction !== undefined && findFamily(network)?.transactionPattern.test(transaction);
  return isKnown === true ? transaction : null;
};

const noteAnswer = async (
  context: BuyContext,
  payment: BoughtPayment,
  { answer, isWhole }: Exchanged<AnswerHead>,
): Promise<void> => {
  const transaction = readTransaction(answer, payment);
  if (await isWhole) await change(context, payment, 'answered', { transaction });
  else await change(context, payment, 'sent', { transaction, reason: 'the answer broke off' });
};

/**
 * Writes down how a payment ends. Returns false if it is another one's now. Only logs an error of the store, as the record
 * still says that the proof may be taken, which is safe.
 */
const change = async (
  { store, clock, log }: BuyContext,
  payment: BoughtPayment,
  to: BoughtPaymentState,
  {
    transaction = null,
    reason = null,
    ...held
  }: Partial<Pick<BoughtPayment, 'transaction' | 'reason' | 'leaseUntil'>>,
): Promise<boolean> => {
  const { identity, checkAt } = payment;
  const isKnown = to === 'unused' || to === 'lost' || (to === 'answered' && transaction !== null);
  try {
    const moved = await store.moveBoughtPayment({
      identity,
      // A payment that was answered once stays so when a later call for the same answer fails.
      from: to === 'sent' ? ['sent'] : ['sent', 'answered', 'lost'],
      to,
      transaction,
      reason: reason?.slice(0, 300) ?? null,
      checkAt: isKnown ? null : checkAt,
      ...held,
      now: clock.now(),
    });
    return moved !== null;
  } catch (error) {
    log.error({ err: error, payment: identity, to }, 'the end of a payment to an upstream was not written');
    return false;
  }
};

const queryMs = 10_000;
const rpcMs = 5_000;

/** Asks the chain for the outcome of a payment. `failed`: it did not happen, and cannot any more. */
export const findBoughtOutcome = async (
  payment: BoughtPayment,
  { networks, clock }: { networks: readonly BuyingNetwork[]; clock: Clock },
): Promise<FoundOutcome> => {
  const network = networks.find(({ id }) => id === payment.network);
  if (network === undefined) return { outcome: 'unknown', reason: 'network_not_configured' };
  const { transaction, createdAt } = payment;
  const begun = {
    payload: JSON.parse(payment.payload) as PaymentPayload,
    requirements: JSON.parse(payment.requirements) as PaymentRequirements,
    transaction,
    rawTransaction: null,
    facilitator: null,
    createdAt,
  };
  const rpc = createJsonRpc({ url: network.rpcUrl, timeoutMs: rpcMs });
  const node = { rpc, signal: AbortSignal.timeout(queryMs), now: clock.now() };
  // A node that does not tell is asked again later.
  return network.family
    .findOutcome(begun, node)
    .catch(() => ({ outcome: 'unknown', reason: 'rpc_unavailable' }));
};

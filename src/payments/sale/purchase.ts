import { hasCode, instead } from '../../kit/errors.ts';
import type { PaymentMethod } from '../wire/challenge.ts';
import type { PaymentOrder } from '../chains/core/facilitator.ts';
import type { TermsMatch } from './find-terms.ts';
import { hasProof, parseProof, paymentIdentity, type Proof, type Proofs } from '../wire/parse-proof.ts';
import type { Payment } from '../../store/store.ts';
import { isLeased, movePayment, newLease, whileLeased } from './move-payment.ts';
import { refusals, toReceipt, toSettleResponse, type Receipt } from './answers.ts';
import type { SaleContext, PayOutcome, PayRequest } from './context.ts';
import { findMethod, isSameProof, toNewPayment, toSigned } from './record.ts';
import {
  appeal,
  isBarred,
  pause,
  refuse,
  replay,
  resolve,
  revertLimit,
  settle,
  type Settled,
} from './settlement.ts';
import { exactScheme, toNano, uptoScheme, uptoTermsOf, WorkNotEndedError, type Scheme } from './scheme.ts';
import { verify } from './verify.ts';

/** For how long a delivered answer is given again. Later its proof, public on the chain, may be sent by anybody. */
export const replayLifeMs = 24 * 3_600_000;

interface Purchase {
  request: PayRequest;
  proof: Proof;
  identity: string;
}

/** A request, and the way in which it is paid. */
interface Order {
  request: PayRequest;
  method: PaymentMethod;
  /** The proof with the terms that it answers. */
  signed: PaymentOrder;
  scheme: Scheme;
}

type Terms = Extract<TermsMatch, { outcome: 'match' }>;

/**
 * Serves a request that is paid with x402. Each step is durable before the next has an outside effect: reserved,
 * verified, result stored, about to be sent, settled (payment-events.ts). A proof that is found half way is being worked
 * on, was left by a process that died, or has an unknown outcome; each goes on from where it stands.
 */
export const pay = async (context: SaleContext, request: PayRequest): Promise<PayOutcome> => {
  const { store } = context;
  if (!hasProof(request.proofs)) return unpaid(context, request);
  const purchase = { request, ...(await readProof(context, request.proofs)) };
  const { proof } = purchase;
  const upto = uptoTermsOf(request.upto);
  const matched = await context.terms.find(proof, { ...request, upto });
  if (matched.outcome === 'match') return reserve(context, purchase, matched);
  const known = await store.getPayment(purchase.identity);
  if (known !== null && known.state !== 'rejected') return resume(context, known, { purchase, matched });
  if (proof.paymentId !== null && (await store.findPaymentById(proof.paymentId)) !== null)
    throw refusals.idConflict();
  if (matched.outcome === 'unavailable') throw refusals.unavailable();
  return unpaid(context, request, matched.reason);
};

const readProof = async (
  { methods }: SaleContext,
  proofs: Proofs,
): Promise<{ proof: Proof; identity: string }> => {
  const proof = parseProof(
    proofs,
    methods.map(({ network }) => network),
  );
  return { proof, identity: await paymentIdentity(proof) };
};

/** Finds the payment that a proof has begun or made; null for a new proof, and for one that cannot be read. */
export const findPayment = async (context: SaleContext, proofs: Proofs): Promise<Payment | null> => {
  const read = await readProof(context, proofs).catch(instead(null, hasCode('invalid_payment')));
  return read && context.store.getPayment(read.identity);
};

/**
 * Finds the settled payment of a proof that is sent to read what it bought. It moves nothing. Throws AppError for a proof
 * that paid for nothing, that has not paid yet, or that has paid for longer than a day.
 */
export const recall = async (context: SaleContext, proofs: Proofs): Promise<Payment> => {
  const { proof, identity } = await readProof(context, proofs);
  const payment = await context.store.getPayment(identity);
  if (payment === null || !isSameProof(payment, proof)) throw refusals.unknown();
  if (payment.isRefunded) throw refusals.refunded();
  const { state } = payment;
  if (state === 'settled' || state === 'delivered') {
    if (isOld(context, payment)) throw refusals.tooOld();
    return payment;
  }
  if (state === 'rejected' || state === 'failed') throw refusals.unknown();
  throw state === 'unknown' || state === 'broadcasting' ? refusals.pending(payment) : refusals.inProgress();
};

/** Whether a payment was settled, or its answer delivered, so long ago that its proof alone reads nothing any more. */
const isOld = ({ clock }: SaleContext, { updatedAt }: Payment): boolean =>
  clock.now() - updatedAt > replayLifeMs;

const reserve = async (context: SaleContext, purchase: Purchase, terms: Terms): Promise<PayOutcome> => {
  const { request, proof, identity } = purchase;
  const { resource } = context.resources.find(request);
  const signed = toSigned(proof, { requirements: terms.requirements, resource });
  const { outcome, payment } = await context.store.reservePayment(
    toNewPayment(signed, {
      identity,
      requestHash: request.requestHash,
      paymentId: proof.paymentId,
      accountId: request.credit?.accountId ?? null,
      credit: request.credit === undefined ? null : request.price,
      ...newLease(context),
      now: context.clock.now(),
    }),
  );
  switch (outcome) {
    case 'reserved': {
      const { method, requirements } = terms;
      const scheme =
        requirements.scheme === 'upto' && request.upto !== undefined
          ? uptoScheme(request.upto, { client: request.client, decimals: method.network.asset.decimals })
          : exactScheme(request);
      return serve(context, payment, { request, method, signed, scheme });
    }
    case 'exists':
      return resume(context, payment, { purchase, matched: terms });
    case 'payment_id_taken':
      throw refusals.idConflict();
  }
};

const serve = async (context: SaleContext, payment: Payment, order: Order): Promise<PayOutcome> => {
  const { request, method, signed, scheme } = order;
  const { owner, credit = owner, signal } = request;
  const verification = await verify(context, payment, { method, signed, credit, scheme, signal });
  if (verification.outcome === 'refused') {
    const { reason, error, isExactOnly } = verification;
    await refuse(context, payment, reason);
    if (error !== undefined) throw error;
    return unpaid(context, isExactOnly === true ? { ...request, upto: undefined } : request, reason);
  }
  const verified = verification.payment;
  const { result, charge } = await produce(context, verified, order);
  if (charge === 0n) {
    await refuse(context, payment, 'not_charged');
    const receipt = scheme.givesReceiptOfNothing
      ? toReceipt({ ...toSettleResponse(verified, { transaction: null }), amount: '0' })
      : undefined;
    const { identity, accountId } = verified;
    return { ...given, result, receipt, replayed: false, identity, accountId };
  }
  const { decimals } = method.network.asset;
  const produced = await movePayment(context, verified, 'produced', {
    result,
    settledAmount: charge,
    credit: charge === undefined || verified.credit === null ? undefined : toNano(charge, decimals),
  });
  if (produced === null) throw refusals.inProgress();
  return settleProduced(context, produced, { request, method, signed, replayed: false });
};

/** Of a result that is given away. */
const given = { outcome: 'served', transaction: null, settledAt: null, paid: null, credit: null } as const;

/** Makes the result. Frees the proof before it throws, unless work goes on. */
const produce = async (
  context: SaleContext,
  payment: Payment,
  { request, scheme }: Order,
): ReturnType<Scheme['produce']> => {
  try {
    request.signal.throwIfAborted();
    return await whileLeased(context, payment, () => scheme.produce(payment));
  } catch (error) {
    if (error instanceof WorkNotEndedError) {
      context.log.error({ err: error, payment: payment.identity }, 'what a paid call costs is not known');
      throw refusals.inProgress();
    }
    await refuse(context, payment, 'not_produced').catch((failure: unknown) =>
      context.log.error(
        { err: failure, payment: payment.identity },
        'a payment proof could not be given back',
      ),
    );
    throw error;
  }
};

const settleProduced = async (
  context: SaleContext,
  payment: Payment,
  {
    request,
    method,
    signed,
    replayed,
  }: Pick<Order, 'request' | 'method'> & Partial<Pick<Order, 'signed'>> & { replayed: boolean },
): Promise<PayOutcome> => {
  // Nobody pays for a search that nobody gets. Work that was done for the buyer is paid, even if the buyer has gone.
  if (request.signal.aborted && payment.settledAmount === null) {
    await pause(context, payment);
    request.signal.throwIfAborted();
  }
  const settled = await settle(context, payment, { method, signed, earlier: null });
  return finish(context, settled, { request, replayed });
};

const finish = (
  context: SaleContext,
  settled: Settled,
  { request, replayed }: { request: PayRequest; replayed: boolean },
): PayOutcome => {
  if (settled.outcome === 'failed') return unpaid(context, request, settled.reason, settled.receipt);
  const { payment, receipt, transaction } = settled;
  const { result, identity, accountId, credit, settledAt, network, asset, amount } = payment;
  // An answer that is gone is not delivered.
  if (payment.state !== 'delivered' && (result ?? credit) !== null)
    context.inBackground(noteDelivery(context, payment));
  const paid = { network, asset, amount };
  const bought = { result, receipt, replayed, transaction, settledAt, paid };
  return { outcome: 'served', ...bought, identity, accountId, credit };
};

const noteDelivery = async (context: SaleContext, payment: Payment): Promise<void> => {
  try {
    await movePayment(context, payment, 'delivered', {});
  } catch (error) {
    context.log.error({ err: error, payment: payment.identity }, 'marking a payment as delivered failed');
  }
};

const unpaid = (
  { challenge }: SaleContext,
  { price, sale, transport, isSandbox, path, upto }: PayRequest,
  reason?: string,
  receipt?: Receipt,
): PayOutcome => ({
  outcome: 'unpaid',
  challenge: challenge({ price, sale, transport, isSandbox, path, reason, upto: uptoTermsOf(upto) }),
  ...(receipt === undefined ? {} : { receipt }),
});

/** Goes on with a known proof. `matched`: whether it would be accepted as a new one. */
const resume = async (
  context: SaleContext,
  payment: Payment,
  { purchase, matched }: { purchase: Purchase; matched: TermsMatch },
): Promise<PayOutcome> => {
  const { request, proof } = purchase;
  if (payment.requestHash !== request.requestHash) throw refusals.conflict();
  if (!isSameProof(payment, proof)) throw refusals.nonceConflict();
  if (payment.isRefunded) throw refusals.refunded();
  switch (payment.state) {
    case 'delivered':
      if (isOld(context, payment)) throw refusals.spent();
      return finish(context, replay(payment), { request, replayed: true });
    case 'settled':
      return finish(context, replay(payment), { request, replayed: true });
    case 'rejected':
      // The proof was freed between our reservation and this read.
      if (matched.outcome !== 'match') return unpaid(context, request, payment.reason ?? undefined);
      throw refusals.inProgress();
    case 'failed':
      return resumeFailed(context, payment, request);
    case 'unknown':
    case 'broadcasting':
      return resumeSent(context, payment, request);
    case 'produced':
      return resumeProduced(context, payment, request);
    case 'reserved':
    case 'verified':
      if (isLeased(context, payment)) throw refusals.inProgress();
      if (matched.outcome === 'unavailable') throw refusals.unavailable();
      if ((await movePayment(context, payment, 'interrupted', {})) === null) throw refusals.inProgress();
      return matched.outcome === 'match'
        ? reserve(context, purchase, matched)
        : unpaid(context, request, matched.reason);
  }
};

const resumeFailed = async (
  context: SaleContext,
  payment: Payment,
  request: PayRequest,
): Promise<PayOutcome> => {
  const method = findMethod(context.methods, payment.network);
  const settled = method === null ? null : await appeal(context, payment, { method, signal: request.signal });
  return settled === null
    ? unpaid(context, request, payment.reason ?? undefined)
    : finish(context, settled, { request, replayed: true });
};

const resumeSent = async (
  context: SaleContext,
  payment: Payment,
  request: PayRequest,
): Promise<PayOutcome> => {
  const { taken, method } = await takeOver(context, payment, 'resumed');
  if (taken.isRefunded) {
    // It was refunded while we took it over.
    await movePayment(context, taken, 'doubted', {
      reason: undefined,
      transaction: undefined,
      reverts: undefined,
    });
    throw refusals.refunded();
  }
  return finish(context, await resolve(context, taken, method), { request, replayed: true });
};

const resumeProduced = async (
  context: SaleContext,
  payment: Payment,
  request: PayRequest,
): Promise<PayOutcome> => {
  if (await isBarred(context, payment)) throw refusals.tooManyReverts(revertLimit.withinMs);
  const { taken, method } = await takeOver(context, payment, 'continued');
  // A payment in advance was only checked so far, and that may be old.
  if (taken.credit !== null && taken.settledAmount === null) {
    const checking = whileLeased(context, taken, async () => {
      const account = await context.store.getWalletAccount(taken.accountId ?? '');
      if (account !== null && account.status !== 'active') throw refusals.accountSuspended();
      return request.produce(request.signal, taken);
    });
    const checked = await checking.catch((error: unknown) => ({ error }));
    if (checked !== null && typeof checked === 'object') {
      await pause(context, taken);
      if ('error' in checked) throw checked.error;
      const { identity, accountId } = taken;
      return { ...given, result: checked.free, receipt: undefined, replayed: true, identity, accountId };
    }
  }
  return settleProduced(context, taken, { request, method, replayed: true });
};

/** Takes the lease of a payment that a process left behind. Throws AppError when another process has it. */
const takeOver = async (
  context: SaleContext,
  payment: Payment,
  event: 'continued' | 'resumed',
): Promise<{ taken: Payment; method: PaymentMethod }> => {
  if (isLeased(context, payment)) throw refusals.inProgress();
  const method = findMethod(context.methods, payment.network);
  if (method === null) throw event === 'resumed' ? refusals.pending(payment) : refusals.unavailable();
  const taken = await movePayment(context, payment, event, {});
  if (taken === null) throw refusals.inProgress();
  return { taken, method };
};

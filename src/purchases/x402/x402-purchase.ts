import { withPurpose } from '../../http/call-purpose.ts';
import { openWalletAccount } from '../wallet-account.ts';
import type { PaymentMethod } from '../../payments/core/challenge.ts';
import { matchTerms, type TermsMatch } from '../../payments/match-terms.ts';
import type { PayingAccounts } from '../../payments/core/network-family.ts';
import { hasProof, parseProof, paymentIdentity, type Proof } from '../../payments/parse-proof.ts';
import type { Payment, VerifyPaymentOutcome } from '../../store/store.ts';
import { changeOf, isLeased, movePayment, newLease, whileLeased } from './move-payment.ts';
import {
  accountSuspended,
  payerUnknown,
  paymentConflict,
  paymentIdConflict,
  paymentInProgress,
  paymentRefunded,
  paymentSpent,
  paymentUnavailable,
  paymentUncovered,
  type Receipt,
} from './x402-answers.ts';
import type { X402Context } from './x402-context.ts';
import { methodsUnder, pricingOf } from './x402-former-terms.ts';
import { findMethod, isSameProof, toBegunPayment, toNewPayment } from './x402-record.ts';
import type { PayOutcome, PayRequest } from './pay-request.ts';
import { appeal, pause, replay, resolve, settle, type Settled } from './x402-settlement.ts';

/** For how long a delivered answer is given again. Later its proof, public on the chain, may be sent by anybody. */
export const replayLifeMs = 24 * 3_600_000;

/** A parsed proof with the request that it pays. */
interface Purchase {
  request: PayRequest;
  proof: Proof;
  identity: string;
}

/** A request, and the way in which it is paid. */
interface Order {
  request: PayRequest;
  method: PaymentMethod;
}

/** The accounts that pay, and the one whose balance rises; null for none. */
type CreditedAccounts = PayingAccounts & { accountId: string | null };

/** Our terms that a proof answers. */
type Terms = Omit<Extract<TermsMatch, { outcome: 'match' }>, 'outcome'>;

/**
 * Serves a request that is paid with x402. Each step is durable before the next has an outside effect: reserved,
 * verified, result stored, about to be sent, settled (payment-events.ts). A proof that is found half way is being worked
 * on, was left by a process that died, or has an unknown outcome; each goes on from where it stands.
 */
export const pay = async (context: X402Context, request: PayRequest): Promise<PayOutcome> => {
  const { store, methods } = context;
  if (!hasProof(request.proofs)) return unpaid(context, request);
  const proof = parseProof(
    request.proofs,
    methods.map(({ network }) => network),
  );
  const purchase = { request, proof, identity: await paymentIdentity(proof) };
  const matched = await findTerms(context, purchase);
  if (matched.outcome === 'match') return reserve(context, purchase, matched);
  const known = await store.getPayment(purchase.identity);
  if (known !== null && known.state !== 'rejected') return resume(context, known, { purchase, terms: null });
  if (proof.paymentId !== null && (await store.findPaymentById(proof.paymentId)) !== null)
    throw paymentIdConflict();
  if (matched.outcome === 'unavailable') throw paymentUnavailable();
  return unpaid(context, request, matched.reason);
};

/** Matches a proof with the present terms, or else with recent ones. */
const findTerms = async (
  { methods, recentFeePayers, formerTerms }: X402Context,
  { proof, request: { price, priceUnder, sale } }: Purchase,
): Promise<TermsMatch> => {
  const present = matchTerms(proof, { methods, price, recentFeePayers });
  if (present.outcome !== 'mismatch' || priceUnder === undefined) return present;
  for (const former of await formerTerms.list()) {
    const pricing = pricingOf(former, sale);
    const formerPrice = pricing === null ? null : priceUnder(pricing);
    if (formerPrice === null) continue;
    const found = matchTerms(proof, {
      methods: methodsUnder(former, methods),
      price: formerPrice,
      recentFeePayers,
    });
    if (found.outcome === 'match') return found;
  }
  return present;
};

const reserve = async (context: X402Context, purchase: Purchase, terms: Terms): Promise<PayOutcome> => {
  const { request, proof, identity } = purchase;
  const { outcome, payment } = await context.store.reservePayment(
    toNewPayment({
      identity,
      requestHash: request.requestHash,
      proof,
      requirements: terms.requirements,
      resource: context.resources.find(request).resource,
      accountId: request.credit?.accountId ?? null,
      credit: request.credit === undefined ? null : request.price,
      ...newLease(context),
      now: context.clock.now(),
    }),
  );
  switch (outcome) {
    case 'reserved':
      return serve(context, payment, { request, method: terms.method });
    case 'exists':
      return resume(context, payment, { purchase, terms });
    case 'payment_id_taken':
      throw paymentIdConflict();
  }
};

/** Goes from our own reservation to the answer. */
const serve = async (context: X402Context, payment: Payment, order: Order): Promise<PayOutcome> => {
  const refusal = await verify(context, payment, order);
  if (refusal !== null) return refusal;
  const { request, method } = order;
  const result = await produce(context, payment, request);
  if (request.isFree?.(result) === true) {
    await refuse(context, payment, 'not_charged');
    return { outcome: 'served', result, receipt: undefined, replayed: false, transaction: null, payment };
  }
  const produced = await movePayment(context, payment, 'produced', { result });
  if (produced === null) throw paymentInProgress();
  return settleProduced(context, produced, { request, method, replayed: false });
};

/** Asks the facilitator, and then whether the account that pays covers all its payments. Returns the refusal, or null. */
const verify = async (context: X402Context, payment: Payment, order: Order): Promise<PayOutcome | null> => {
  const { request, method } = order;
  const begun = toBegunPayment(payment, context.resources);
  const verified = await whileLeased(context, payment, () =>
    method.facilitator.verify(begun, request.signal),
  );
  if (verified.outcome !== 'valid') {
    await refuse(context, payment, verified.reason);
    if (verified.outcome === 'unavailable') throw paymentUnavailable();
    return unpaid(context, request, verified.reason);
  }
  const accounts = await method.network.family.findPayingAccounts(begun);
  if (accounts !== null) {
    const accountId = await whileLeased(context, payment, () =>
      findCredited(context, payment, { ...order, accounts }),
    );
    return cover(context, payment, { ...order, accounts: { ...accounts, accountId } });
  }
  await refuse(context, payment, noTransfer);
  return unpaid(context, request, noTransfer);
};

/** Returns the account whose balance the payment raises; null for none. Frees the proof before it throws. */
const findCredited = async (
  context: X402Context,
  payment: Payment,
  { request: { credit }, method, accounts: { payer } }: Order & { accounts: PayingAccounts },
): Promise<string | null> => {
  if (credit === undefined || credit.accountId !== null) return payment.accountId;
  const wallet = payer === null ? null : await method.findWallet(payer);
  if (wallet === null) {
    await refuse(context, payment, payer === null ? 'payer_unknown' : 'rpc_unavailable');
    throw payer === null ? payerUnknown() : paymentUnavailable();
  }
  const account = await openWalletAccount(context, { wallet, isSandbox: credit.isSandbox });
  if (account.status === 'active') return account.id;
  await refuse(context, payment, 'account_suspended');
  throw accountSuspended();
};

const noTransfer = 'invalid_exact_svm_payload_no_transfer_instruction';

/**
 * Marks a payment as verified if its source covers it together with all its other open payments: a chain shows each
 * of them the same money until the first one lands. Returns the refusal, or null.
 */
const cover = async (
  context: X402Context,
  payment: Payment,
  { request, method, accounts }: Order & { accounts: CreditedAccounts },
): Promise<PayOutcome | null> => {
  const { amount, asset } = payment;
  const { source } = accounts;
  // The facilitator has checked that the money covers this payment alone.
  const alone = await storeVerified(context, payment, { accounts, funds: amount });
  if (alone.outcome === 'verified') return null;
  const funds = await whileLeased(context, payment, () => method.readFunds({ source, asset }));
  if (funds === null) {
    await refuse(context, payment, 'rpc_unavailable');
    throw paymentUnavailable();
  }
  const beside = await storeVerified(context, payment, { accounts, funds });
  if (beside.outcome === 'verified') return null;
  await refuse(context, payment, 'insufficient_funds');
  // Payments that were sent may have left the balance already, and others may never be sent: only the unsent ones
  // prove that there is too little.
  if (amount + beside.unsent > funds) return unpaid(context, request, 'insufficient_funds');
  throw paymentUncovered();
};

const storeVerified = async (
  context: X402Context,
  payment: Payment,
  { accounts, funds }: { accounts: CreditedAccounts; funds: bigint },
): Promise<VerifyPaymentOutcome> => {
  const change = changeOf(context, payment, ['verified', accounts]);
  const verified = await context.store.verifyPayment({ change, source: accounts.source, funds });
  if (verified === null) throw paymentInProgress();
  return verified;
};

/** Makes the result. Frees the proof before it throws. */
const produce = async (
  context: X402Context,
  payment: Payment,
  { signal, ...request }: PayRequest,
): Promise<string> => {
  try {
    signal.throwIfAborted();
    const purpose = { operation: request.sale, jobId: null, soldPayment: payment.identity };
    return await whileLeased(context, payment, () => withPurpose(purpose, () => request.produce(signal)));
  } catch (error) {
    await refuse(context, payment, 'not_produced').catch((failure: unknown) =>
      context.log.error(
        { err: failure, payment: payment.identity },
        'a payment proof could not be given back',
      ),
    );
    throw error;
  }
};

/** Frees a proof that bought nothing. */
const refuse = async (context: X402Context, payment: Payment, reason: string): Promise<void> => {
  await movePayment(context, payment, 'refused', { reason });
};

const settleProduced = async (
  context: X402Context,
  payment: Payment,
  { request, method, replayed }: Order & { replayed: boolean },
): Promise<PayOutcome> => {
  if (request.signal.aborted) {
    await pause(context, payment);
    request.signal.throwIfAborted();
  }
  const settled = await settle(context, payment, { method, earlier: null });
  return finish(context, settled, { request, replayed });
};

const finish = (
  context: X402Context,
  settled: Settled,
  { request, replayed }: { request: PayRequest; replayed: boolean },
): PayOutcome => {
  if (settled.outcome === 'failed') return unpaid(context, request, settled.reason, settled.receipt);
  const { payment, result, receipt, transaction } = settled;
  if (payment.state !== 'delivered') context.noteDelivery(payment);
  return { outcome: 'served', result, receipt, replayed, transaction, payment };
};

const unpaid = (
  { challenge }: X402Context,
  { price, sale, transport }: PayRequest,
  reason?: string,
  receipt?: Receipt,
): PayOutcome => ({
  outcome: 'unpaid',
  challenge: challenge({ price, sale, transport, reason }),
  ...(receipt === undefined ? {} : { receipt }),
});

/** Goes on with a known proof. `terms` is null when it would not be accepted as a new one. */
const resume = async (
  context: X402Context,
  payment: Payment,
  { purchase, terms }: { purchase: Purchase; terms: Terms | null },
): Promise<PayOutcome> => {
  const { request, proof } = purchase;
  if (payment.requestHash !== request.requestHash || !isSameProof(payment, proof)) throw paymentConflict();
  if (payment.isRefunded) throw paymentRefunded();
  switch (payment.state) {
    case 'delivered':
      if (context.clock.now() - payment.updatedAt > replayLifeMs) throw paymentSpent();
      return finish(context, replay(payment), { request, replayed: true });
    case 'settled':
      return finish(context, replay(payment), { request, replayed: true });
    case 'rejected':
      // The proof was freed between our reservation and this read.
      if (terms === null) return unpaid(context, request, payment.reason ?? undefined);
      throw paymentInProgress();
    case 'failed':
      return resumeFailed(context, payment, request);
    case 'unknown':
    case 'broadcasting':
      return resumeSent(context, payment, request);
    case 'produced':
      return resumeProduced(context, payment, request);
    case 'reserved':
    case 'verified':
      if (isLeased(context, payment)) throw paymentInProgress();
      if (terms === null) throw paymentUnavailable();
      if ((await movePayment(context, payment, 'interrupted', {})) === null) throw paymentInProgress();
      return reserve(context, purchase, terms);
  }
};

const resumeFailed = async (
  context: X402Context,
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
  context: X402Context,
  payment: Payment,
  request: PayRequest,
): Promise<PayOutcome> => {
  const { taken, method } = await takeOver(context, payment, 'resumed');
  if (taken.isRefunded) {
    // It was refunded while we took it over.
    await movePayment(context, taken, 'doubted', { reason: undefined, transaction: undefined });
    throw paymentRefunded();
  }
  return finish(context, await resolve(context, taken, method), { request, replayed: true });
};

const resumeProduced = async (
  context: X402Context,
  payment: Payment,
  request: PayRequest,
): Promise<PayOutcome> => {
  const { taken, method } = await takeOver(context, payment, 'continued');
  return settleProduced(context, taken, { request, method, replayed: true });
};

/** Takes the lease of a payment that a process left behind. Throws AppError when another process has it. */
const takeOver = async (
  context: X402Context,
  payment: Payment,
  event: 'continued' | 'resumed',
): Promise<{ taken: Payment; method: PaymentMethod }> => {
  if (isLeased(context, payment)) throw paymentInProgress();
  const method = findMethod(context.methods, payment.network);
  if (method === null) throw paymentUnavailable();
  const taken = await movePayment(context, payment, event, {});
  if (taken === null) throw paymentInProgress();
  return { taken, method };
};

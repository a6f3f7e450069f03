import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import type { Nano } from '../../kit/money.ts';
import type { Challenge, PaymentMethod } from '../../payments/core/challenge.ts';
import { matchTerms, type TermsMatch } from '../../payments/core/match-terms.ts';
import type { FeePayers } from '../../payments/core/facilitator.ts';
import type { PayingAccounts } from '../../payments/core/network-family.ts';
import {
  hasProof,
  parseProof,
  paymentIdentity,
  type Proof,
  type Proofs,
} from '../../payments/core/parse-proof.ts';
import type { PaymentRequirements, ResourceInfo } from '../../payments/core/wire.ts';
import type { Payment, PaymentState, Store, VerifyPaymentOutcome } from '../../store/store.ts';
import {
  paymentConflict,
  paymentIdConflict,
  paymentInProgress,
  paymentRefunded,
  paymentSpent,
  paymentUnavailable,
  paymentUncovered,
  type Receipt,
} from './x402-answers.ts';
import { leaseOf, noLease, type PaymentLeases } from './x402-lease.ts';
import { methodsUnder, pricingOf, type FormerTermsRegistry } from './x402-former-terms.ts';
import {
  createAdvance,
  findMethod,
  isSameProof,
  toBegunPayment,
  toNewPayment,
  type DeclaredFor,
} from './x402-record.ts';
import type { SoldOver } from './x402-resources.ts';
import { nextCheck } from './x402-schedule.ts';
import type { Settled, Settlements } from './x402-settlement.ts';

export interface PayRequest extends SoldOver {
  price: Nano;
  /** Returns the price under the rule of that name, which was offered before; null for an unknown rule. */
  priceUnder?: (pricing: string) => Nano | null;
  /** The proofs as they came, unread; null for none. */
  proofs: Proofs | null;
  /** The hash of the canonical request: a proof pays one request. */
  requestHash: string;
  /** Makes the JSON text that is sold. When it throws, nothing is charged and the error is passed on. */
  produce: (signal: AbortSignal) => Promise<string>;
  /** Whether that result is given away; absent: every result is charged. */
  isFree?: (result: string) => boolean;
  /** Aborts when the client has gone. Ends the work before the settlement, and never a settlement. */
  signal: AbortSignal;
}

export type PayOutcome =
  /** `receipt`: of a settlement that failed. */
  | { outcome: 'unpaid'; challenge: Challenge; receipt?: Receipt }
  | {
      outcome: 'served';
      result: string;
      /** Undefined for a result that was given away. */
      receipt: Receipt | undefined;
      /** Whether the result was made for an earlier request with the same proof. */
      replayed: boolean;
      transaction: string | null;
    };

export interface PurchaseContext {
  store: Store;
  clock: Clock;
  log: Log;
  methods: readonly PaymentMethod[];
  leases: PaymentLeases;
  settlements: Settlements;
  recentFeePayers: FeePayers;
  formerTerms: FormerTermsRegistry;
  declaredFor: DeclaredFor;
  /** Describes what is sold, as it is stored with the payment. */
  resourceOf: (over: SoldOver) => ResourceInfo;
  /** `reason`: why a proof was refused. */
  challenge: (request: SoldOver & { price: Nano; reason?: string }) => Challenge;
  /** Notes, in the background, that the buyer is being answered. */
  noteDelivery: (identity: string) => void;
}

/** For how long a delivered answer is given again. Later its proof, public on the chain, may be sent by anybody. */
export const replayLifeMs = 24 * 3_600_000;

/** A parsed proof with the request that it pays. */
interface Purchase {
  request: PayRequest;
  proof: Proof;
  identity: string;
}

interface Terms {
  method: PaymentMethod;
  requirements: PaymentRequirements;
}

/** The states in which a proof can still be given back for another use. */
const beforeResult: readonly PaymentState[] = ['reserved', 'verified'];

const noTransfer = 'invalid_exact_svm_payload_no_transfer_instruction';

/**
 * Serves a request that is paid with x402. Each step is durable before the next has an outside effect: reserved,
 * verified, result stored, about to be broadcast, settled. A proof that is found half way is being worked on, was left
 * by a process that died, or has an unknown outcome; each goes on from where it stands.
 */
export const createPurchasing = (
  context: PurchaseContext,
): ((request: PayRequest) => Promise<PayOutcome>) => {
  const { store, clock, log, methods, leases, settlements } = context;
  const networks = methods.map(({ network }) => network);
  const advance = createAdvance({ store, clock });

  const unpaid = (
    { price, sale, transport }: PayRequest,
    reason?: string,
    receipt?: Receipt,
  ): PayOutcome => ({
    outcome: 'unpaid',
    challenge: context.challenge({ price, sale, transport, ...(reason === undefined ? {} : { reason }) }),
    ...(receipt === undefined ? {} : { receipt }),
  });

  const finish = (request: PayRequest, settled: Settled, replayed: boolean): PayOutcome => {
    if (settled.outcome === 'failed') return unpaid(request, settled.reason, settled.receipt);
    if (settled.payment.state !== 'delivered') context.noteDelivery(settled.payment.identity);
    const { result, receipt, transaction } = settled;
    return { outcome: 'served', result, receipt, replayed, transaction };
  };

  /** Frees a proof that bought nothing. */
  const reject = async (payment: Payment, reason: string): Promise<void> => {
    await advance(payment, {
      from: beforeResult,
      to: 'rejected',
      owner: leaseOf(payment),
      set: { reason, checkAt: null, ...noLease },
    });
  };

  const noteVerified = async (
    held: Payment,
    { accounts, funds }: { accounts: PayingAccounts; funds: bigint },
  ): Promise<VerifyPaymentOutcome> => {
    const change = {
      identity: held.identity,
      from: ['reserved'],
      to: 'verified',
      owner: leaseOf(held),
      set: { ...accounts, ...leases.extend() },
      now: clock.now(),
    } as const;
    const verified = await store.verifyPayment({ change, source: accounts.source, funds });
    if (verified === null) throw paymentInProgress();
    return verified;
  };

  /**
   * Marks a payment as verified if its source covers it together with all its other open payments: a chain shows each
   * of them the same money until the first one lands. Returns the refusal, or null.
   */
  const verifyCovered = async (
    payment: Payment,
    { request, accounts, method }: { request: PayRequest; accounts: PayingAccounts; method: PaymentMethod },
  ): Promise<PayOutcome | null> => {
    const { amount, asset } = payment;
    // The facilitator has checked that the money covers this payment alone.
    const alone = await noteVerified(payment, { accounts, funds: amount });
    if (alone.outcome === 'verified') return null;
    const { source } = accounts;
    const funds = await leases.keep({ payment, states: beforeResult }, () =>
      method.readFunds({ source, asset }),
    );
    if (funds === null) {
      await reject(payment, 'rpc_unavailable');
      throw paymentUnavailable();
    }
    const beside = await noteVerified(payment, { accounts, funds });
    if (beside.outcome === 'verified') return null;
    await reject(payment, 'insufficient_funds');
    // Payments that were sent may have left the balance already, and others may never be sent: only the unsent ones
    // prove that there is too little.
    if (amount + beside.unsent > funds) return unpaid(request, 'insufficient_funds');
    throw paymentUncovered();
  };

  /** Makes the result. Frees the proof before it throws. */
  const produce = async (payment: Payment, { request, identity }: Purchase): Promise<string> => {
    try {
      request.signal.throwIfAborted();
      return await leases.keep({ payment, states: beforeResult }, () => request.produce(request.signal));
    } catch (error) {
      await reject(payment, 'not_produced').catch((failure: unknown) =>
        log.error({ err: failure, payment: identity }, 'a payment proof could not be given back'),
      );
      throw error;
    }
  };

  const settleProduced = async (
    payment: Payment,
    { request, method, replayed }: { request: PayRequest; method: PaymentMethod; replayed: boolean },
  ): Promise<PayOutcome> => {
    if (request.signal.aborted) {
      await settlements.giveBack(payment);
      request.signal.throwIfAborted();
    }
    const settled = await settlements.settle(payment, { method, earlier: null });
    return finish(request, settled, replayed);
  };

  /** Goes from our own reservation to the answer. */
  const serve = async (payment: Payment, purchase: Purchase, method: PaymentMethod): Promise<PayOutcome> => {
    const { request } = purchase;
    const order = toBegunPayment(payment, context.declaredFor);
    const verified = await leases.keep({ payment, states: beforeResult }, () =>
      method.facilitator.verify(order, request.signal),
    );
    switch (verified.outcome) {
      case 'invalid':
        await reject(payment, verified.reason);
        return unpaid(request, verified.reason);
      case 'unavailable':
        await reject(payment, verified.reason);
        throw paymentUnavailable();
      case 'valid':
        break;
    }
    const accounts = await method.network.family.findPayingAccounts(order);
    if (accounts === null) {
      await reject(payment, noTransfer);
      return unpaid(request, noTransfer);
    }
    const refusal = await verifyCovered(payment, { request, accounts, method });
    if (refusal !== null) return refusal;
    const result = await produce(payment, purchase);
    if (request.isFree?.(result) === true) {
      await reject(payment, 'not_charged');
      return { outcome: 'served', result, receipt: undefined, replayed: false, transaction: null };
    }
    const produced = await advance(payment, {
      from: ['verified'],
      to: 'produced',
      owner: leaseOf(payment),
      set: { result, ...leases.extend() },
    });
    if (produced === null) throw paymentInProgress();
    return settleProduced(produced, { request, method, replayed: false });
  };

  /** Takes over a payment that a process left behind; null when another process was faster. */
  const takeOver = (payment: Payment, to: PaymentState): Promise<Payment | null> =>
    advance(payment, {
      from: [payment.state],
      to,
      ...(payment.leaseOwner === null ? {} : { owner: payment.leaseOwner }),
      set: to === 'rejected' ? { reason: 'interrupted', checkAt: null, ...noLease } : leases.take(),
    });

  /** Ends our turn on a payment that was refunded while we took it over. */
  const giveBack = async (payment: Payment): Promise<never> => {
    await advance(payment, {
      from: ['broadcasting'],
      to: 'unknown',
      owner: leaseOf(payment),
      set: { checkAt: nextCheck(payment, clock.now()), ...noLease },
    });
    throw paymentRefunded();
  };

  const reserve = async (purchase: Purchase, terms: Terms): Promise<PayOutcome> => {
    const { request, proof, identity } = purchase;
    const { outcome, payment } = await store.reservePayment(
      toNewPayment(
        {
          identity,
          requestHash: request.requestHash,
          proof,
          requirements: terms.requirements,
          resource: context.resourceOf(request),
        },
        { lease: leases.take(), clock },
      ),
    );
    switch (outcome) {
      case 'reserved':
        return serve(payment, purchase, terms.method);
      case 'exists':
        return resume(payment, purchase, terms);
      case 'payment_id_taken':
        throw paymentIdConflict();
    }
  };

  /** Goes on with a known proof. `terms` is null when it would not be accepted as a new one. */
  const resume = async (payment: Payment, purchase: Purchase, terms: Terms | null): Promise<PayOutcome> => {
    const { request, proof } = purchase;
    if (payment.requestHash !== request.requestHash || !isSameProof(payment, proof)) throw paymentConflict();
    if (payment.isRefunded) throw paymentRefunded();
    const method = findMethod(methods, payment.network);
    switch (payment.state) {
      case 'delivered':
        if (clock.now() - payment.updatedAt > replayLifeMs) throw paymentSpent();
        return finish(request, settlements.replay(payment), true);
      case 'settled':
        return finish(request, settlements.replay(payment), true);
      case 'rejected':
        // The proof was freed between our reservation and this read.
        if (terms === null) return unpaid(request, payment.reason ?? undefined);
        throw paymentInProgress();
      case 'failed': {
        const appealed =
          method === null ? null : await settlements.appeal(payment, { method, signal: request.signal });
        return appealed === null
          ? unpaid(request, payment.reason ?? undefined)
          : finish(request, appealed, true);
      }
      case 'unknown':
      case 'broadcasting': {
        if (leases.isLive(payment)) throw paymentInProgress();
        if (method === null) throw paymentUnavailable();
        const taken = await takeOver(payment, 'broadcasting');
        if (taken === null) throw paymentInProgress();
        if (taken.isRefunded) return giveBack(taken);
        return finish(
          request,
          await settlements.resolve(taken, { method, signal: new AbortController().signal }),
          true,
        );
      }
      case 'produced': {
        if (leases.isLive(payment)) throw paymentInProgress();
        if (method === null) throw paymentUnavailable();
        const taken = await takeOver(payment, 'produced');
        if (taken === null) throw paymentInProgress();
        return settleProduced(taken, { request, method, replayed: true });
      }
      case 'reserved':
      case 'verified':
        break;
    }
    if (leases.isLive(payment)) throw paymentInProgress();
    if (terms === null) throw paymentUnavailable();
    if ((await takeOver(payment, 'rejected')) === null) throw paymentInProgress();
    return reserve(purchase, terms);
  };

  /** Matches a proof with the present terms, or else with recent ones. */
  const match = async (proof: Proof, { price, priceUnder, sale }: PayRequest): Promise<TermsMatch> => {
    const { recentFeePayers, formerTerms } = context;
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

  return async (request) => {
    if (!hasProof(request.proofs)) return unpaid(request);
    const proof = parseProof(request.proofs, networks);
    const purchase = { request, proof, identity: await paymentIdentity(proof) };
    const matched = await match(proof, request);
    if (matched.outcome === 'match') return reserve(purchase, matched);
    const known = await store.getPayment(purchase.identity);
    if (known !== null && known.state !== 'rejected') return resume(known, purchase, null);
    if (proof.paymentId !== null && (await store.findPaymentById(proof.paymentId)) !== null)
      throw paymentIdConflict();
    if (matched.outcome === 'unavailable') throw paymentUnavailable();
    return unpaid(request, matched.reason);
  };
};

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
import type {
  AdvancePaymentInput,
  Payment,
  PaymentState,
  Store,
  VerifyPaymentOutcome,
} from '../../store/store.ts';
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
import { methodsUnder, type FormerTermsBook } from './x402-former-terms.ts';
import { findMethod, isSameProof, toBegunPayment, toNewPayment, type DeclaredFor } from './x402-record.ts';
import { nextCheck } from './x402-schedule.ts';
import type { Settled, Settlements } from './x402-settlement.ts';

export interface PayRequest {
  price: Nano;
  /** The price under the rule of that name, which was offered before; null for a rule that is not known. */
  priceUnder?: (pricing: string) => Nano | null;
  /** Where it is sold. */
  resource: 'rest' | 'mcp';
  /** As they came, unread; null for none. */
  proofs: Proofs | null;
  /** Of the canonical request: a proof pays one request. */
  requestHash: string;
  /** Makes the JSON text that is sold. What it throws is passed on; nothing is charged then. */
  produce: (signal: AbortSignal) => Promise<string>;
  /** Whether that result is given away; absent: every result is charged. */
  isFree?: (result: string) => boolean;
  /** The client has gone. Ends the work up to the settlement, and never a settlement. */
  signal: AbortSignal;
}

export type PayOutcome =
  /** `receipt` tells of a settlement that failed. */
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
  formerTerms: FormerTermsBook;
  declaredFor: DeclaredFor;
  resources: () => Record<PayRequest['resource'], ResourceInfo>;
  /** `reason`: why a proof was refused. */
  challenge: (request: { price: Nano; resource: PayRequest['resource']; reason?: string }) => Challenge;
  /** Notes without delay that the buyer is being answered. */
  noteDelivery: (identity: string) => void;
}

/** A delivered answer is given again for so long. Later its proof, which is public on the chain, may be anybody's. */
export const replayLifeMs = 24 * 3_600_000;

/** A proof that was read, with the request that it pays. */
interface Purchase {
  request: PayRequest;
  proof: Proof;
  identity: string;
}

interface Terms {
  method: PaymentMethod;
  requirements: PaymentRequirements;
}

/** What was reserved or verified, and given back: the proof can be used again. */
const beforeResult: readonly PaymentState[] = ['reserved', 'verified'];

const noTransfer = 'invalid_exact_svm_payload_no_transfer_instruction';

/**
 * Serves a request that is paid with x402. Each step is durable before the next touches the outside: reserved,
 * verified, result stored, about to be broadcast, settled. A proof that is found half way is one of: being worked
 * on, given up by a process that died, or of unknown outcome; each goes on from where it stands.
 */
export const createPurchasing = (
  context: PurchaseContext,
): ((request: PayRequest) => Promise<PayOutcome>) => {
  const { store, clock, log, methods, leases, settlements, resources } = context;
  const networks = methods.map(({ network }) => network);

  const unpaid = ({ price, resource }: PayRequest, reason?: string, receipt?: Receipt): PayOutcome => ({
    outcome: 'unpaid',
    challenge: context.challenge({ price, resource, ...(reason === undefined ? {} : { reason }) }),
    ...(receipt === undefined ? {} : { receipt }),
  });

  const finish = (request: PayRequest, settled: Settled, replayed: boolean): PayOutcome => {
    if (settled.outcome === 'failed') return unpaid(request, settled.reason, settled.receipt);
    if (settled.payment.state !== 'delivered') context.noteDelivery(settled.payment.identity);
    const { result, receipt, transaction } = settled;
    return { outcome: 'served', result, receipt, replayed, transaction };
  };

  /** Frees a proof that nothing was done with. */
  const reject = async (payment: Payment, reason: string): Promise<void> => {
    await store.advancePayment({
      identity: payment.identity,
      from: beforeResult,
      to: 'rejected',
      owner: leaseOf(payment),
      set: { reason, checkAt: null, ...noLease },
      now: clock.now(),
    });
  };

  const toStep = (
    held: Payment,
    { from, to, set }: { from: PaymentState; to: PaymentState; set: AdvancePaymentInput['set'] },
  ): AdvancePaymentInput => ({
    identity: held.identity,
    from: [from],
    to,
    owner: leaseOf(held),
    set: { ...set, ...leases.extend() },
    now: clock.now(),
  });

  const noteVerified = async (
    held: Payment,
    { accounts, funds }: { accounts: PayingAccounts; funds: bigint },
  ): Promise<VerifyPaymentOutcome> => {
    const change = toStep(held, { from: 'reserved', to: 'verified', set: { ...accounts } });
    const verified = await store.verifyPayment({ change, source: accounts.source, funds });
    if (verified === null) throw paymentInProgress();
    return verified;
  };

  /**
   * Writes down that a payment is verified, if its source covers it beside all its other open payments: a chain shows
   * each of them the same money until the first one lands. Returns the refusal, or null.
   */
  const verifyCovered = async (
    payment: Payment,
    { request, accounts, method }: { request: PayRequest; accounts: PayingAccounts; method: PaymentMethod },
  ): Promise<PayOutcome | null> => {
    const { amount, asset } = payment;
    // The facilitator has seen that there is enough for this one alone.
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
    // What was sent may be missing from the balance already, and what was given up may never be sent, so only the rest
    // proves that there is too little.
    if (amount + beside.unsent > funds) return unpaid(request, 'insufficient_funds');
    throw paymentUncovered();
  };

  /** The result; or what it throws, once the proof is free again. */
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
      await store.advancePayment({
        identity: payment.identity,
        from: ['produced'],
        to: 'produced',
        owner: leaseOf(payment),
        set: { leaseUntil: clock.now(), checkAt: nextCheck(payment, clock.now()) },
        now: clock.now(),
      });
      request.signal.throwIfAborted();
    }
    const settled = await settlements.settle(payment, { method, earlier: null });
    return finish(request, settled, replayed);
  };

  /** From a reservation of ours to the answer. */
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
    const produced = await store.advancePayment(
      toStep(payment, { from: 'verified', to: 'produced', set: { result } }),
    );
    if (produced === null) throw paymentInProgress();
    return settleProduced(produced, { request, method, replayed: false });
  };

  /** Takes over what a process left behind; null when somebody else was faster. */
  const takeOver = (payment: Payment, to: PaymentState): Promise<Payment | null> =>
    store.advancePayment({
      identity: payment.identity,
      from: [payment.state],
      to,
      ...(payment.leaseOwner === null ? {} : { owner: payment.leaseOwner }),
      set: to === 'rejected' ? { reason: 'interrupted', checkAt: null, ...noLease } : leases.take(),
      now: clock.now(),
    });

  /** It was given back while we took it over. */
  const giveBack = async (payment: Payment): Promise<never> => {
    await store.advancePayment({
      identity: payment.identity,
      from: ['broadcasting'],
      to: 'unknown',
      owner: leaseOf(payment),
      set: { checkAt: nextCheck(payment, clock.now()), ...noLease },
      now: clock.now(),
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
          resource: resources()[request.resource],
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

  /** A proof that is known already. `terms` is null when it would not be accepted as a new one. */
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
        // Freed between our reservation and our look at it.
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

  /** By the present terms, or else by those that were offered lately. */
  const match = async (proof: Proof, { price, priceUnder }: PayRequest): Promise<TermsMatch> => {
    const { recentFeePayers, formerTerms } = context;
    const present = matchTerms(proof, { methods, price, recentFeePayers });
    if (present.outcome !== 'mismatch' || priceUnder === undefined) return present;
    for (const former of await formerTerms.list()) {
      const formerPrice = priceUnder(former.pricing);
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

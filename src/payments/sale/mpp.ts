import { AppError } from '../../kit/errors.ts';
import { randomBase62 } from '../../kit/ids.ts';
import { memoizeAsync } from '../../kit/memoize.ts';
import type { Challenge, MppProblem } from '../wire/challenge.ts';
import {
  mppProblem,
  readMppCredential,
  writeMppChallenges,
  writeMppReceipt,
  type MppBinding,
  type MppCredential,
  type MppRequest,
} from '../wire/mpp.ts';
import { hasProof, type Proofs } from '../wire/parse-proof.ts';
import type { Payment } from '../../store/store.ts';
import type { PayOutcome, PayRequest, SaleContext } from './context.ts';
import { findPayment, pay } from './purchase.ts';

type KnownRequest = Pick<PayRequest, 'requestHash' | 'proofs'>;

type OfferRequest = KnownRequest & Pick<PayRequest, 'sale' | 'transport' | 'isSandbox' | 'path' | 'price'>;

/**
 * Speaks MPP to requests over HTTP that have `proofs.mpp`, beside x402. A credential of MPP is rewritten as an x402 proof.
 * So both have the same identity, and everything after that is the same.
 */
export const createMppDialect = (context: SaleContext, publicUrl: () => string) => {
  const { store, methods, clock } = context;
  const loadKey = memoizeAsync(() =>
    store.getOrCreateSecret({ name: 'mpp-challenges', value: randomBase62(43) }),
  );
  const bind = async ({ requestHash }: KnownRequest, { field }: MppRequest): Promise<MppBinding> => ({
    key: await loadKey(),
    requestHash,
    field,
  });

  /** Null for none. Of two proofs one is charged: x402 always wins, so that a repetition is the same. */
  const readCredential = async (request: KnownRequest) => {
    const { mpp, ...proofs } = request.proofs ?? {};
    if (mpp === undefined || mpp.credential === null || hasProof(proofs)) return null;
    return readMppCredential(mpp.credential, await bind(request, mpp));
  };

  /** Adds the terms of MPP to those of x402 for a request that speaks it. */
  const translate = async (
    challenge: Challenge,
    request: OfferRequest,
    problem: MppProblem | null,
  ): Promise<Challenge> => {
    const mpp = request.proofs?.mpp;
    if (mpp === undefined) return challenge;
    const terms = { methods, price: request.price, realm: new URL(publicUrl()).host, now: clock.now() };
    const header = writeMppChallenges(terms, await bind(request, mpp));
    const headers = header === '' ? {} : { 'www-authenticate': header };
    return { ...challenge, mpp: { headers, problem } };
  };

  return {
    offer: async (request: OfferRequest): Promise<Challenge> =>
      translate(context.challenge(request), request, null),
    /** Finds the payment that the proof of a request has begun or made; null for a new proof, and for one that cannot be read. */
    findPayment: async (request: KnownRequest & { proofs: Proofs }): Promise<Payment | null> => {
      const read = await readCredential(request);
      if (read === null) return findPayment(context, request.proofs);
      return 'problem' in read ? null : findPayment(context, { meta: read.proof });
    },
    /** Serves a request in the dialect of its proof. */
    pay: async (request: PayRequest): Promise<PayOutcome> => {
      const read = await readCredential(request);
      const { outcome, problem } =
        read === null
          ? { outcome: await pay(context, request), problem: null }
          : await payByCredential(context, request, read);
      if (outcome.outcome === 'served') return outcome;
      return { ...outcome, challenge: await translate(outcome.challenge, request, problem) };
    },
  };
};

/** Pays with a credential. `problem` says why it was refused; null when it was served. */
const payByCredential = async (
  context: SaleContext,
  request: PayRequest,
  read: ReturnType<typeof readMppCredential>,
): Promise<{ outcome: PayOutcome; problem: MppProblem | null }> => {
  const refuse = async (problem: MppProblem) => ({
    outcome: await pay(context, { ...request, proofs: null }),
    problem,
  });
  if ('problem' in read) return refuse(read.problem);
  try {
    const outcome = await pay(context, { ...request, proofs: { meta: read.proof } });
    if (outcome.outcome === 'served') return { outcome: withReceipt(context, outcome, read), problem: null };
    const reason = outcome.challenge.body.error;
    const isExpired = read.expiresAt <= context.clock.now();
    return {
      outcome,
      problem: isExpired
        ? mppProblem('payment-expired')
        : mppProblem('verification-failed', `The payment was refused: ${reason}.`),
    };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid_payment') throw error;
    return refuse(mppProblem('malformed-credential'));
  }
};

const withReceipt = (
  { clock }: SaleContext,
  served: Extract<PayOutcome, { outcome: 'served' }>,
  credential: MppCredential,
): PayOutcome => {
  const { receipt, transaction } = served;
  if (receipt === undefined || transaction === null) return served;
  const settledAt = served.settledAt ?? clock.now();
  const written = writeMppReceipt(credential, { transaction, settledAt });
  return { ...served, receipt: { ...receipt, mpp: { 'payment-receipt': written } } };
};

import { AppError } from '../../kit/errors.ts';
import { randomBase62 } from '../../kit/ids.ts';
import { memoizeAsync } from '../../kit/memoize-async.ts';
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
import type { PayOutcome, PayRequest, X402Context } from './context.ts';
import { findPayment, pay } from './purchase.ts';

/** The parts of a request that its terms depend on. */
type OfferRequest = Pick<PayRequest, 'sale' | 'transport' | 'isSandbox' | 'price' | 'proofs' | 'requestHash'>;

/** The parts of a request that name its payment. */
type KnownRequest = Pick<PayRequest, 'requestHash'> & { proofs: Proofs };

interface MppContext extends X402Context {
  publicUrl: () => string;
  loadKey: () => Promise<string>;
}

/**
 * Speaks MPP to requests over HTTP, beside x402. A credential of MPP is rewritten as an x402 proof. So both have the
 * same identity, and everything after that is the same.
 */
export const createMppDialect = (x402: X402Context, publicUrl: () => string) => {
  const loadKey = memoizeAsync(() =>
    x402.store.getOrCreateSecret({ name: 'mpp-challenges', value: randomBase62(43) }),
  );
  const context: MppContext = { ...x402, publicUrl, loadKey };
  return {
    /** Returns the terms for a request without payment. */
    offer: async (request: OfferRequest): Promise<Challenge> => {
      const challenge = x402.challenge(request);
      const mpp = request.proofs?.mpp;
      return mpp === undefined ? challenge : translate(context, challenge, { request, mpp, problem: null });
    },
    /** Finds the payment that the proof of a request has begun or made; null for a new proof, and for one that cannot be read. */
    findPayment: async (request: KnownRequest): Promise<Payment | null> => {
      const { mpp, ...proofs } = request.proofs;
      const credential = credentialIn(request.proofs);
      if (mpp === undefined || credential === null) return findPayment(x402, proofs);
      const read = readMppCredential(credential, await bind(context, request, mpp));
      return 'problem' in read ? null : findPayment(x402, { meta: read.proof });
    },
    /** Serves a request in the dialect of its proof. */
    pay: async (request: PayRequest, mpp: MppRequest): Promise<PayOutcome> => {
      const { mpp: _mpp, ...proofs } = request.proofs ?? {};
      const credential = credentialIn({ ...proofs, mpp });
      const { outcome, problem } =
        credential === null
          ? { outcome: await pay(x402, { ...request, proofs }), problem: null }
          : await payByCredential(context, request, { ...mpp, credential });
      if (outcome.outcome === 'served') return outcome;
      return {
        ...outcome,
        challenge: await translate(context, outcome.challenge, { request, mpp, problem }),
      };
    },
  };
};

/**
 * Returns the credential of MPP that counts; null for none. Some wallets may send both, and are charged once: an x402
 * proof always wins, so that a repetition is the same.
 */
const credentialIn = ({ mpp, ...proofs }: Proofs): string | null =>
  hasProof(proofs) ? null : (mpp?.credential ?? null);

const bind = async (
  { loadKey }: MppContext,
  { requestHash }: Pick<OfferRequest, 'requestHash'>,
  { field }: MppRequest,
): Promise<MppBinding> => ({ key: await loadKey(), requestHash, field });

/** Adds the terms of MPP to those of x402. */
const translate = async (
  context: MppContext,
  challenge: Challenge,
  { request, mpp, problem }: { request: OfferRequest; mpp: MppRequest; problem: MppProblem | null },
): Promise<Challenge> => {
  const { methods, publicUrl, clock } = context;
  const terms = { methods, price: request.price, realm: new URL(publicUrl()).host, now: clock.now() };
  const header = writeMppChallenges(terms, await bind(context, request, mpp));
  const headers = header === '' ? {} : { 'www-authenticate': header };
  return { ...challenge, mpp: { headers, problem } };
};

/** Pays with a credential. `problem` says why it was refused; null when it was served. */
const payByCredential = async (
  context: MppContext,
  request: PayRequest,
  mpp: MppRequest & { credential: string },
): Promise<{ outcome: PayOutcome; problem: MppProblem | null }> => {
  const refuse = async (problem: MppProblem) => ({
    outcome: await pay(context, { ...request, proofs: null }),
    problem,
  });
  const read = readMppCredential(mpp.credential, await bind(context, request, mpp));
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
  { clock }: MppContext,
  served: Extract<PayOutcome, { outcome: 'served' }>,
  credential: MppCredential,
): PayOutcome => {
  const { receipt, transaction } = served;
  if (receipt === undefined || transaction === null) return served;
  const settledAt = served.settledAt ?? clock.now();
  const written = writeMppReceipt(credential, { transaction, settledAt });
  return { ...served, receipt: { ...receipt, mpp: { 'payment-receipt': written } } };
};

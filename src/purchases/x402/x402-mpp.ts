import { AppError } from '../../kit/errors.ts';
import { randomBase62 } from '../../kit/ids.ts';
import { memoizeAsync } from '../../kit/memoize-async.ts';
import type { Challenge, MppProblem } from '../../payments/core/challenge.ts';
import {
  mppProblem,
  readMppCredential,
  writeMppChallenges,
  writeMppReceipt,
  type MppCredential,
  type MppRequest,
} from '../../payments/mpp.ts';
import { hasProof } from '../../payments/parse-proof.ts';
import type { X402Context } from './x402-context.ts';
import type { PayOutcome, PayRequest } from './pay-request.ts';
import { pay } from './x402-purchase.ts';

/** The parts of a request that its terms depend on. */
export type OfferRequest = Pick<PayRequest, 'sale' | 'transport' | 'price' | 'proofs' | 'requestHash'>;

/**
 * Speaks MPP to requests over HTTP, beside x402. A credential of MPP becomes the x402 proof that it is. So both have the
 * same identity, and everything after that is the same.
 */
export const createMppDialect = (context: X402Context, { publicUrl }: { publicUrl: () => string }) => {
  const { store, methods, clock } = context;
  const loadKey = memoizeAsync(() =>
    store.getOrCreateSecret({ name: 'mpp-challenges', value: randomBase62(43) }),
  );
  const bind = async ({ requestHash }: OfferRequest, { field }: MppRequest) => ({
    key: await loadKey(),
    requestHash,
    field,
  });

  /** Adds the terms of MPP to those of x402. */
  const translate = async (
    challenge: Challenge,
    request: OfferRequest,
    { mpp, problem }: { mpp: MppRequest; problem: MppProblem | null },
  ): Promise<Challenge> => {
    const terms = { methods, price: request.price, realm: new URL(publicUrl()).host, now: clock.now() };
    const header = writeMppChallenges(terms, await bind(request, mpp));
    return { ...challenge, mpp: { headers: header === '' ? {} : { 'www-authenticate': header }, problem } };
  };

  const offer = async (request: OfferRequest, problem: MppProblem | null = null): Promise<Challenge> => {
    const { sale, transport, price, proofs } = request;
    const reason = problem?.type.replace(/^.*\//, '').replace('-', '_');
    const challenge = context.challenge({ sale, transport, price, ...(problem === null ? {} : { reason }) });
    return proofs?.mpp === undefined
      ? challenge
      : translate(challenge, request, { mpp: proofs.mpp, problem });
  };

  const refuse = async (request: PayRequest, problem: MppProblem): Promise<PayOutcome> => ({
    outcome: 'unpaid',
    challenge: await offer(request, problem),
  });

  const payWith = async (
    request: PayRequest,
    { read, mpp }: { read: MppCredential; mpp: MppRequest },
  ): Promise<PayOutcome> => {
    const outcome = await pay(context, { ...request, proofs: { meta: read.proof } });
    if (outcome.outcome === 'unpaid') {
      const problem =
        read.expiresAt <= clock.now()
          ? mppProblem('payment-expired')
          : mppProblem('verification-failed', `The payment was refused: ${outcome.challenge.body.error}.`);
      return { ...outcome, challenge: await translate(outcome.challenge, request, { mpp, problem }) };
    }
    const { receipt, transaction } = outcome;
    if (receipt === undefined || transaction === null) return outcome;
    const settledAt = outcome.settledAt ?? clock.now();
    const written = writeMppReceipt(read, { transaction, settledAt });
    return { ...outcome, receipt: { ...receipt, mpp: { 'payment-receipt': written } } };
  };

  return {
    /** Returns the terms for a request without payment. */
    offer: (request: OfferRequest): Promise<Challenge> => offer(request),
    /** Serves a request in the dialect of its proof. */
    pay: async (request: PayRequest, mpp: MppRequest): Promise<PayOutcome> => {
      const { mpp: _mpp, ...proofs } = request.proofs ?? {};
      // Some wallets may send both, and are charged once: an x402 proof always wins, so that a repetition is the same.
      if (mpp.credential === null || hasProof(proofs)) {
        const outcome = await pay(context, { ...request, proofs });
        if (outcome.outcome === 'served') return outcome;
        return {
          ...outcome,
          challenge: await translate(outcome.challenge, request, { mpp, problem: null }),
        };
      }
      const read = readMppCredential(mpp.credential, await bind(request, mpp));
      if ('problem' in read) return refuse(request, read.problem);
      try {
        return await payWith(request, { read, mpp });
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'invalid_payment') throw error;
        return refuse(request, mppProblem('malformed-credential'));
      }
    },
  };
};

import { AppError } from '../../kit/errors.ts';
import { randomBase62 } from '../../kit/ids.ts';
import { memoizeAsync } from '../../kit/memoize-async.ts';
import type { MppProblem } from '../../payments/core/challenge.ts';
import {
  mppProblem,
  readMppCredential,
  writeMppChallenges,
  writeMppReceipt,
  type MppBinding,
  type MppCredential,
  type MppRequest,
} from '../../payments/mpp.ts';
import { hasProof } from '../../payments/parse-proof.ts';
import type { X402Context } from './x402-context.ts';
import { pay, type PayOutcome, type PayRequest } from './x402-purchase.ts';

type Unpaid = Extract<PayOutcome, { outcome: 'unpaid' }>;

/**
 * Serves requests over HTTP that may be paid in MPP too. A credential of MPP becomes the x402 proof that it is. So both
 * have the same identity, and everything after that is the same.
 */
export const createMppDialect = (context: X402Context, { publicUrl }: { publicUrl: () => string }) => {
  const { store, methods, clock } = context;
  const loadKey = memoizeAsync(() =>
    store.getOrCreateSecret({ name: 'mpp-challenges', value: randomBase62(43) }),
  );

  const offer = (
    unpaid: Unpaid,
    problem: MppProblem | null,
    { price, binding }: { price: PayRequest['price']; binding: MppBinding },
  ): PayOutcome => {
    const realm = new URL(publicUrl()).host;
    const header = writeMppChallenges({ methods, price, realm, now: clock.now() }, binding);
    return { ...unpaid, challenge: { ...unpaid.challenge, mpp: { header, problem } } };
  };

  /** Pays with a credential. Null: the payment in it cannot be read. */
  const payWith = async (request: PayRequest, { proof }: MppCredential): Promise<PayOutcome | null> => {
    try {
      return await pay(context, { ...request, proofs: { meta: proof } });
    } catch (error) {
      if (error instanceof AppError && error.code === 'invalid_payment') return null;
      throw error;
    }
  };

  return async (request: PayRequest, { credential, field }: MppRequest): Promise<PayOutcome> => {
    const { price, sale, transport, requestHash } = request;
    const { mpp: _mpp, ...proofs } = request.proofs ?? {};
    const offering = { price, binding: { key: await loadKey(), requestHash, field } };
    // Some wallets may send both, and are charged once: an x402 proof always wins, so that a repetition is the same.
    if (credential === null || hasProof(proofs)) {
      const outcome = await pay(context, { ...request, proofs });
      return outcome.outcome === 'unpaid' ? offer(outcome, null, offering) : outcome;
    }
    const refuse = (problem: MppProblem): PayOutcome => {
      const reason = problem.type.replace(/^.*\//, '').replace('-', '_');
      const challenge = context.challenge({ price, sale, transport, reason });
      return offer({ outcome: 'unpaid', challenge }, problem, offering);
    };
    const read = readMppCredential(credential, offering.binding);
    if ('problem' in read) return refuse(read.problem);
    const outcome = await payWith(request, read);
    if (outcome === null) return refuse(mppProblem('malformed-credential'));
    if (outcome.outcome === 'unpaid') {
      const isExpired = read.expiresAt <= clock.now();
      const problem = isExpired
        ? mppProblem('payment-expired')
        : mppProblem('verification-failed', `The payment was refused: ${outcome.challenge.body.error}.`);
      return offer(outcome, problem, offering);
    }
    const { receipt, transaction, settledAt } = outcome;
    if (receipt === undefined || transaction === null) return outcome;
    const written = writeMppReceipt(read, { transaction, settledAt: settledAt ?? clock.now() });
    return {
      ...outcome,
      receipt: { ...receipt, headers: { ...receipt.headers, 'payment-receipt': written } },
    };
  };
};

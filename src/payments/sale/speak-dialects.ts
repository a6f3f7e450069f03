import { hasCode } from '../../kit/errors.ts';
import { randomBase62 } from '../../kit/ids.ts';
import { memoizeAsync } from '../../kit/memoize.ts';
import type { Payment } from '../../store/store.ts';
import type { Challenge, DialectProblem } from '../wire/challenge.ts';
import type { Credential, Dialect, DialectBinding } from '../wire/dialect.ts';
import { hasProof, type Proofs } from '../wire/parse-proof.ts';
import type { PayOutcome, PayRequest, SaleContext } from './context.ts';
import { findPayment, pay } from './purchase.ts';

type KnownRequest = Pick<PayRequest, 'requestHash' | 'proofs'>;

type OfferRequest = KnownRequest & Pick<PayRequest, 'sale' | 'transport' | 'isSandbox' | 'path' | 'price'>;

/**
 * Speaks the dialects of a request (`proofs.dialects`) beside x402. A credential is rewritten as an x402 proof. So both
 * have the same identity, and everything after that is the same.
 */
export const createDialectSpeaker = (context: SaleContext, publicUrl: () => string) => {
  const { store, methods, clock } = context;
  const loadKey = memoizeAsync(() =>
    store.getOrCreateSecret({ name: 'dialect-challenges', value: randomBase62(43) }),
  );
  const bind = async ({ name }: Dialect, to: Omit<DialectBinding, 'key'>): Promise<DialectBinding> => ({
    key: name + (await loadKey()),
    ...to,
  });

  /** Null for none. Of two proofs one is charged: x402 always wins, so that a repetition is the same. */
  const readCredential = async ({ proofs: all, requestHash }: KnownRequest) => {
    const { dialects = [], ...proofs } = all ?? {};
    const said = dialects.find(({ credential }) => credential !== null);
    if (said === undefined || said.credential === null || hasProof(proofs)) return null;
    const { dialect, credential, field } = said;
    return dialect.readCredential(credential, await bind(dialect, { requestHash, field }));
  };

  /** Adds the terms in the dialects of a request to those of x402. */
  const translate = async (
    challenge: Challenge,
    { proofs, price, requestHash }: OfferRequest,
    problem: DialectProblem | null,
  ): Promise<Challenge> => {
    const dialects = proofs?.dialects ?? [];
    if (dialects.length === 0) return challenge;
    const terms = { methods, price, realm: new URL(publicUrl()).host, now: clock.now() };
    const headers = new Headers();
    for (const { dialect, field } of dialects) {
      const written = dialect.writeTerms(terms, await bind(dialect, { requestHash, field }));
      for (const [name, value] of written) headers.append(name, value);
    }
    return { ...challenge, inDialects: { headers: Object.fromEntries(headers), problem } };
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

const isUnreadable = hasCode('invalid_payment');

/** Pays with a credential. `problem` says why it was refused; null when it was served. */
const payByCredential = async (
  context: SaleContext,
  request: PayRequest,
  read: Credential | { problem: DialectProblem },
): Promise<{ outcome: PayOutcome; problem: DialectProblem | null }> => {
  const refuse = async (problem: DialectProblem) => ({
    outcome: await pay(context, { ...request, proofs: null }),
    problem,
  });
  if ('problem' in read) return refuse(read.problem);
  const { clock } = context;
  try {
    const outcome = await pay(context, { ...request, proofs: { meta: read.proof } });
    return outcome.outcome === 'served'
      ? { outcome: withReceipt(outcome, read, clock.now()), problem: null }
      : { outcome, problem: read.refuse(outcome.challenge.body.error, clock.now()) };
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return refuse(read.refuse(null, clock.now()));
  }
};

const withReceipt = (
  served: Extract<PayOutcome, { outcome: 'served' }>,
  { writeReceipt }: Credential,
  now: number,
): PayOutcome => {
  const { receipt, transaction, settledAt } = served;
  if (receipt === undefined || transaction === null) return served;
  const inDialect = writeReceipt({ transaction, settledAt: settledAt ?? now });
  return { ...served, receipt: { ...receipt, inDialect } };
};

import type { Clock } from '../../kit/clock.ts';
import { canonicalJson } from '../../kit/json.ts';
import type { PaymentMethod } from '../../payments/core/challenge.ts';
import type { BegunPayment } from '../../payments/core/facilitator.ts';
import type { Proof } from '../../payments/core/parse-proof.ts';
import type {
  Extensions,
  PaymentPayload,
  PaymentRequirements,
  ResourceInfo,
} from '../../payments/core/wire.ts';
import type { AdvancePaymentInput, NewPayment, Payment, Store } from '../../store/store.ts';

/** Returns a proof as it is stored: payload and terms in v2 form, in whichever form they came. */
export const toNewPayment = (
  input: {
    identity: string;
    requestHash: string;
    proof: Proof;
    requirements: PaymentRequirements;
    resource: ResourceInfo;
  },
  { lease, clock }: { lease: { leaseOwner: string; leaseUntil: number }; clock: Clock },
): NewPayment => {
  const { identity, requestHash, proof, requirements, resource } = input;
  const payload: PaymentPayload = {
    x402Version: 2,
    resource,
    accepted: requirements,
    payload: proof.payload,
  };
  return {
    identity,
    requestHash,
    network: requirements.network,
    asset: requirements.asset,
    payTo: requirements.payTo,
    amount: BigInt(requirements.amount),
    payload: JSON.stringify(payload),
    requirements: JSON.stringify(requirements),
    paymentId: proof.paymentId,
    leaseOwner: lease.leaseOwner,
    leaseUntil: lease.leaseUntil,
    now: clock.now(),
  };
};

/** Reads the stored proof. */
export const toPayload = (payment: Payment): PaymentPayload => JSON.parse(payment.payload);

/** Returns what is declared of a stored resource; null when it is not sold here. */
export type DeclaredFor = (resource: ResourceInfo) => Extensions | null;

/** Returns a stored payment as a facilitator takes it. Its extensions are ours, not the buyer's. */
export const toBegunPayment = (payment: Payment, declaredFor: DeclaredFor): BegunPayment => {
  const stored = toPayload(payment);
  const extensions = declaredFor(stored.resource);
  const payload = extensions === null ? stored : { ...stored, extensions };
  const requirements: PaymentRequirements = JSON.parse(payment.requirements);
  return {
    payload,
    requirements,
    transaction: payment.transaction,
    rawTransaction: payment.rawTransaction,
    facilitator: payment.facilitator,
    createdAt: payment.createdAt,
  };
};

/**
 * Whether the stored payment was made with this very proof. Chains show payer and nonce to everybody, so the identity
 * alone must not give access to the answer.
 */
export const isSameProof = (payment: Payment, proof: Proof): boolean =>
  canonicalJson(toPayload(payment).payload) === canonicalJson(proof.payload);

/** Changes a payment by compare-and-set. Null: its state or its lease is another by now. */
export type AdvancePayment = (
  payment: Pick<Payment, 'identity'>,
  change: Omit<AdvancePaymentInput, 'identity' | 'now'> & { now?: number },
) => Promise<Payment | null>;

export const createAdvance =
  ({ store, clock }: { store: Pick<Store, 'advancePayment'>; clock: Clock }): AdvancePayment =>
  ({ identity }, change) =>
    store.advancePayment({ identity, now: clock.now(), ...change });

export const findMethod = (methods: readonly PaymentMethod[], network: string): PaymentMethod | null =>
  methods.find((method) => method.network.id === network) ?? null;

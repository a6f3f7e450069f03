import { canonicalJson } from '../../kit/json.ts';
import type { PaymentMethod } from '../../payments/core/challenge.ts';
import type { BegunPayment } from '../../payments/core/facilitator.ts';
import type { Proof } from '../../payments/parse-proof.ts';
import type { PaymentPayload, PaymentRequirements, ResourceInfo } from '../../payments/core/wire.ts';
import type { NewPayment, Payment } from '../../store/store.ts';
import type { SoldResources } from './x402-resources.ts';

/** Returns a proof as it is stored: payload and terms in v2 form, in whichever form they came. */
export const toNewPayment = ({
  proof,
  requirements,
  resource,
  ...payment
}: {
  proof: Proof;
  requirements: PaymentRequirements;
  resource: ResourceInfo;
} & Pick<
  NewPayment,
  'identity' | 'requestHash' | 'accountId' | 'credit' | 'leaseOwner' | 'leaseUntil' | 'now'
>): NewPayment => {
  const { network, asset, payTo, amount } = requirements;
  const payload: PaymentPayload = {
    x402Version: 2,
    resource,
    accepted: requirements,
    payload: proof.payload,
  };
  return {
    ...payment,
    network,
    asset,
    payTo,
    amount: BigInt(amount),
    payload: JSON.stringify(payload),
    requirements: JSON.stringify(requirements),
    paymentId: proof.paymentId,
  };
};

/** Reads the stored proof. */
export const toPayload = ({ payload }: Pick<Payment, 'payload'>): PaymentPayload => JSON.parse(payload);

/** Returns a stored payment as a facilitator takes it. Its extensions are ours, not the buyer's. */
export const toBegunPayment = (
  { payload, requirements, transaction, rawTransaction, facilitator, createdAt }: Payment,
  resources: SoldResources,
): BegunPayment => {
  const stored = toPayload({ payload });
  const extensions = resources.declaredFor(stored.resource);
  return {
    payload: extensions === null ? stored : { ...stored, extensions },
    requirements: JSON.parse(requirements),
    transaction,
    rawTransaction,
    facilitator,
    createdAt,
  };
};

/**
 * Whether the stored payment was made with this very proof. Chains show payer and nonce to everybody, so the identity
 * alone must not give access to the answer.
 */
export const isSameProof = (payment: Payment, proof: Proof): boolean =>
  canonicalJson(toPayload(payment).payload) === canonicalJson(proof.payload);

export const findMethod = (methods: readonly PaymentMethod[], network: string): PaymentMethod | null =>
  methods.find((method) => method.network.id === network) ?? null;

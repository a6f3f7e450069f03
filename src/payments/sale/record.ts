import { canonicalJson } from '../../kit/json.ts';
import type { PaymentMethod } from '../wire/challenge.ts';
import type { BegunPayment, PaymentOrder } from '../chains/core/facilitator.ts';
import { gasSponsoring, gasSponsoringDeclaration } from '../wire/extensions.ts';
import type { Proof } from '../wire/parse-proof.ts';
import type { PaymentPayload, PaymentRequirements, ResourceInfo } from '../chains/core/wire.ts';
import type { NewPayment, Payment } from '../../store/store.ts';
import type { SoldResources } from '../wire/sold-resources.ts';

/** Returns a proof with the terms that it answers in v2 form, in whichever form it came. */
export const toSigned = (
  { payload, gasPermit }: Proof,
  { requirements, resource }: { requirements: PaymentRequirements; resource: ResourceInfo },
): PaymentOrder => ({
  requirements,
  payload: {
    x402Version: 2,
    resource,
    accepted: requirements,
    payload,
    ...(gasPermit === null
      ? {}
      : { extensions: { [gasSponsoring]: { ...gasSponsoringDeclaration, info: gasPermit } } }),
  },
});

export const toNewPayment = (
  { payload, requirements }: PaymentOrder,
  payment: Omit<NewPayment, 'network' | 'asset' | 'payTo' | 'amount' | 'payload' | 'requirements'>,
): NewPayment => {
  const { network, asset, payTo, amount } = requirements;
  return {
    ...payment,
    network,
    asset,
    payTo,
    amount: BigInt(amount),
    payload: JSON.stringify(payload),
    requirements: JSON.stringify(requirements),
  };
};

export const toPayload = ({ payload }: Pick<Payment, 'payload'>): PaymentPayload => JSON.parse(payload);

/** Returns a payment as a facilitator takes it. Of the buyer's extensions it has the permit for Permit2 alone. */
export const toBegunPayment = (
  payment: Payment,
  { resources, signed }: { resources: SoldResources; signed?: PaymentOrder | undefined },
): BegunPayment => {
  const { settledAmount, transaction, rawTransaction, facilitator, createdAt } = payment;
  const { payload, requirements }: PaymentOrder = signed ?? {
    payload: toPayload(payment),
    requirements: JSON.parse(payment.requirements),
  };
  const declared = resources.declaredFor(payload.resource);
  return {
    payload: declared === null ? payload : { ...payload, extensions: { ...declared, ...payload.extensions } },
    requirements,
    ...(settledAmount === null ? {} : { charge: settledAmount }),
    transaction,
    rawTransaction,
    facilitator,
    createdAt,
  };
};

/** Chains show payer and nonce to everybody, so the identity alone must not give access to the answer. */
export const isSameProof = (payment: Payment, proof: Proof): boolean =>
  canonicalJson(toPayload(payment).payload) === canonicalJson(proof.payload);

export const findMethod = (methods: readonly PaymentMethod[], network: string): PaymentMethod | null =>
  methods.find((method) => method.network.id === network) ?? null;

import { z } from 'zod';
import { PurchaseError } from '../../http/pay-settings.ts';
import { formatUsd, nanoPerUsd, type Nano } from '../../kit/money.ts';
import {
  integerText,
  parseBase64Json,
  type PaymentRequirements,
  type ResourceInfo,
} from '../chains/core/wire.ts';
import type { PaymentNetwork } from '../chains/core/network-family.ts';

export interface Offer {
  network: PaymentNetwork;
  requirements: PaymentRequirements;
  resource: ResourceInfo;
  price: Nano;
}

/** The buyer may only sign again when the last proof has expired. So a long validity could block a job for long. */
const longestSeconds = 3_600;
const largestAmount = 2n ** 63n - 1n;

const requiredSchema = z.object({
  x402Version: z.literal(2),
  error: z.string().max(200).optional().catch(undefined),
  resource: z.looseObject({
    url: z.string(),
    description: z.string().default(''),
    mimeType: z.string().default(''),
  }),
  accepts: z.array(z.unknown()).min(1).max(32),
});

const termsSchema = z.object({
  scheme: z.literal('exact'),
  network: z.templateLiteral([z.string(), ':', z.string()]),
  asset: z.string(),
  amount: integerText,
  payTo: z.string(),
  maxTimeoutSeconds: z.int().min(1),
  extra: z.record(z.string(), z.unknown()).default({}),
});

export const readRequired = (header: unknown): z.output<typeof requiredSchema> | null =>
  requiredSchema.safeParse(parseBase64Json(header)).data ?? null;

const toPrice = (amount: bigint, decimals: number): Nano => {
  const unit = 10n ** BigInt(decimals);
  // Rounded up, so that a budget is never exceeded by what was rounded away.
  return (amount * nanoPerUsd + unit - 1n) / unit;
};

interface Limits {
  maxPerCall: Nano;
  /** What the answer is sold for. Undefined: it is not compared. */
  maxPrice?: Nano | undefined;
}

const findFault = (
  { asset, payTo, amount, maxTimeoutSeconds, extra }: PaymentRequirements,
  { network, maxPerCall, maxPrice }: Limits & { network: PaymentNetwork },
): string | null => {
  const { family, asset: known } = network;
  const { name, version, assetTransferMethod = 'eip3009' } = extra;
  if (family.normalize(asset) !== family.normalize(known.address)) return `${asset} is not a known token`;
  if (known.transfer !== null && known.transfer !== assetTransferMethod)
    return `${String(assetTransferMethod)} is not the way in which the token is transferred`;
  if (known.eip712 !== null && (known.eip712.name !== name || known.eip712.version !== version))
    return 'the token is named wrongly';
  if (family.addressProblem(payTo) !== null) return 'the address of the seller is wrong';
  if (maxTimeoutSeconds > longestSeconds) return `a proof would be valid for ${maxTimeoutSeconds} seconds`;
  if (BigInt(amount) === 0n || BigInt(amount) > largestAmount) return 'the amount is not payable';
  const price = toPrice(BigInt(amount), known.decimals);
  if (maxPrice !== undefined && price > maxPrice)
    return `${formatUsd(price)} USD is more than the call is sold for, which is ${formatUsd(maxPrice)}`;
  return price > maxPerCall
    ? `${formatUsd(price)} USD is more than max_usd_per_call, which is ${formatUsd(maxPerCall)}`
    : null;
};

/**
 * Chooses the terms to pay from a 402's `PAYMENT-REQUIRED`: those of the first of `networks`, in the operator's order, of
 * a known token and within the limits. Throws PurchaseError when there are none.
 */
export const chooseOffer = (
  header: unknown,
  { networks, ...limits }: Limits & { networks: readonly PaymentNetwork[] },
): Offer => {
  const required = readRequired(header);
  if (required === null)
    throw new PurchaseError('the upstream asks for payment, and not by terms of x402 v2', {
      mayBePaid: false,
    });
  const { resource } = required;
  const terms = required.accepts.flatMap((one): PaymentRequirements[] => {
    const { data } = termsSchema.safeParse(one);
    return data === undefined ? [] : [data];
  });
  const faults: string[] = [];
  for (const network of networks)
    for (const requirements of terms.filter((one) => one.network === network.id)) {
      const fault = findFault(requirements, { network, ...limits });
      if (fault === null) {
        const price = toPrice(BigInt(requirements.amount), network.asset.decimals);
        return { network, requirements, resource, price };
      }
      faults.push(`${network.label}: ${fault}`);
    }
  const reason = faults.length > 0 ? faults.join('; ') : 'none of the allowed networks is among them';
  throw new PurchaseError(`the terms of the upstream are not acceptable: ${reason}`.slice(0, 500), {
    mayBePaid: false,
  });
};

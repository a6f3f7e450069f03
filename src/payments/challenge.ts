import { AppError } from '../errors.ts';
import { formatUsd, type Nano } from '../money.ts';
import { encodeBase64Json } from './base64-json.ts';
import { toSmallestUnit, type PaymentNetwork } from './networks.ts';
import type { Facilitator } from './facilitators/facilitator.ts';
import type {
  PaymentRequired,
  PaymentRequiredBody,
  PaymentRequirements,
  PaymentRequirementsV1,
  ResourceInfo,
} from './wire.ts';

/** One way in which this service is paid. */
export interface PaymentMethod {
  network: PaymentNetwork;
  payTo: string;
  facilitator: Facilitator;
}

/** What is owed, for every dialect of x402. */
export interface Challenge {
  /** The base64 v2 terms, for `PAYMENT-REQUIRED`. */
  header: string;
  /** The v2 terms, for MCP. */
  paymentRequired: PaymentRequired;
  /** The body of the 402, for people and for v1 clients. */
  body: PaymentRequiredBody;
}

/**
 * How long a buyer has from the challenge to the end of the settlement; EVM buyers sign it into their proof. It
 * leaves room to settle again after an outage.
 */
const maxTimeoutSeconds = 300;
const maxCached = 512;
const nothingWrong = 'Payment required';

const toRequirements = (method: PaymentMethod, price: Nano): PaymentRequirements | null => {
  const { network, payTo, facilitator } = method;
  const { asset } = network;
  const supported = facilitator.supports();
  // EVM terms need nothing from the facilitator, so they hold before it was first asked.
  if (supported === 'unsupported' || (supported === null && network.family !== 'evm')) return null;
  return {
    scheme: 'exact',
    network: network.id,
    asset: asset.address,
    amount: toSmallestUnit(price, asset.decimals).toString(),
    payTo,
    maxTimeoutSeconds,
    extra: { ...supported?.extra, ...asset.eip712, facilitator: facilitator.address() },
  };
};

const toV1 = (
  requirements: PaymentRequirements,
  { network, resource }: { network: PaymentNetwork; resource: ResourceInfo },
): PaymentRequirementsV1 => ({
  scheme: requirements.scheme,
  network: network.v1Name,
  maxAmountRequired: requirements.amount,
  resource: resource.url,
  description: resource.description,
  mimeType: resource.mimeType,
  payTo: requirements.payTo,
  maxTimeoutSeconds: requirements.maxTimeoutSeconds,
  asset: requirements.asset,
  extra: requirements.extra,
});

/** The terms of every method that can be offered now, in the order of `methods`. */
export const offeredTerms = (
  methods: readonly PaymentMethod[],
  price: Nano,
): { method: PaymentMethod; requirements: PaymentRequirements }[] =>
  methods.flatMap((method) => {
    const requirements = toRequirements(method, price);
    return requirements === null ? [] : [{ method, requirements }];
  });

export interface ChallengeRequest {
  price: Nano;
  resource: ResourceInfo;
}

const build = (
  methods: readonly PaymentMethod[],
  { price, resource, error }: ChallengeRequest & { error: string },
): Challenge => {
  const offers = offeredTerms(methods, price);
  const [first] = offers;
  if (first === undefined)
    throw new AppError(
      'payment_unavailable',
      'No payment network can be used right now. Try again shortly.',
      {
        retryAfterSeconds: 10,
      },
    );
  const paymentRequired: PaymentRequired = {
    x402Version: 2,
    error,
    resource,
    accepts: offers.map(({ requirements }) => requirements),
  };
  const { network, payTo } = first.method;
  return {
    header: encodeBase64Json(paymentRequired),
    paymentRequired,
    body: {
      error,
      x402: {
        version: '2',
        amount: formatUsd(price),
        asset: network.asset.symbol,
        payTo,
        chain: network.v1Name,
      },
      x402Version: 1,
      accepts: offers.map(({ method, requirements }) =>
        toV1(requirements, { network: method.network, resource }),
      ),
    },
  };
};

export interface ChallengeBook {
  /** `reason`: why a proof was refused. Throws AppError `payment_unavailable` when no network can be offered. */
  challenge(request: ChallengeRequest & { reason?: string }): Challenge;
  /** Forgets what was made: what a facilitator supports may have changed. */
  clear(): void;
}

/** Makes each challenge once. */
export const createChallengeBook = (methods: readonly PaymentMethod[]): ChallengeBook => {
  const cache = new Map<string, Challenge>();
  return {
    challenge: ({ price, resource, reason }) => {
      if (reason !== undefined) return build(methods, { price, resource, error: reason });
      const key = `${price} ${resource.url}`;
      const known = cache.get(key);
      if (known !== undefined) return known;
      const made = build(methods, { price, resource, error: nothingWrong });
      if (cache.size >= maxCached) cache.clear();
      cache.set(key, made);
      return made;
    },
    clear: () => cache.clear(),
  };
};

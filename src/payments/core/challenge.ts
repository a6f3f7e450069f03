import { LRUCache } from 'lru-cache';
import { AppError } from '../../kit/errors.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import { encodeBase64Json } from './base64-json.ts';
import { offerReceipt, toOffersExtension, type SignedOffer } from '../extensions/offer-receipt.ts';
import type { OfferRegistry, SignedOffers } from '../extensions/signed-offers.ts';
import type { PaymentNetwork } from './network-family.ts';
import { toSmallestUnit } from './networks.ts';
import type { Facilitator } from './facilitator.ts';
import type {
  Extensions,
  PaymentRequired,
  PaymentRequiredBody,
  PaymentRequirements,
  PaymentRequirementsV1,
  ResourceInfo,
} from './wire.ts';

/** A way to pay this service: a network with a wallet and a facilitator. */
export interface PaymentMethod {
  network: PaymentNetwork;
  payTo: string;
  facilitator: Facilitator;
  /** Reads the balance of a payment's source, in the asset's smallest unit; null when no node answers. */
  readFunds: (of: { source: string; asset: string }) => Promise<bigint | null>;
}

/** The terms of a payment, for every dialect of x402. */
export interface Challenge {
  /** The base64 v2 terms, for `PAYMENT-REQUIRED`; with fewer signed offers where all would make it too long. */
  header: string;
  /** The v2 terms, for MCP. */
  paymentRequired: PaymentRequired;
  /** The body of the 402, for people and for v1 clients. */
  body: PaymentRequiredBody;
}

/**
 * The time from the challenge to the end of the settlement; EVM buyers sign it into their proof. It leaves room to
 * settle again after an outage.
 */
export const maxTimeoutSeconds = 300;
const maxCached = 512;
const nothingWrong = 'Payment required';

const toRequirements = (method: PaymentMethod, price: Nano): PaymentRequirements | null => {
  const { network, payTo, facilitator } = method;
  const { asset } = network;
  const supported = facilitator.supports() ?? network.family.readSupported(undefined);
  if (supported === 'unsupported') return null;
  return {
    scheme: 'exact',
    network: network.id,
    asset: asset.address,
    amount: toSmallestUnit(price, asset.decimals).toString(),
    payTo,
    maxTimeoutSeconds,
    extra: {
      ...supported.extra,
      ...asset.eip712,
      // Without it clients sign ERC-3009.
      ...(asset.transfer === 'permit2' ? { assetTransferMethod: asset.transfer } : {}),
      facilitator: facilitator.address(),
    },
  };
};

/** Permit2 came with v2. */
const suitsV1 = ({ network }: PaymentMethod): boolean =>
  network.isInV1 && network.asset.transfer !== 'permit2';

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

/** Lists the networks that this process settles on, in the form of a facilitator's `/supported`, as JSON text; null for none. */
export const supportedKinds = (methods: readonly PaymentMethod[]): string | null => {
  const locals = methods.filter(({ facilitator }) => facilitator.name === 'local');
  const kinds = locals.flatMap((method) => {
    const { network, facilitator } = method;
    const supported = facilitator.supports();
    if (supported === null || supported === 'unsupported') return [];
    const { extra } = supported;
    return [
      { x402Version: 2, scheme: 'exact', network: network.id, extra },
      ...(suitsV1(method) ? [{ x402Version: 1, scheme: 'exact', network: network.v1Name, extra }] : []),
    ];
  });
  return locals.length === 0 ? null : JSON.stringify({ kinds, extensions: [], signers: {} });
};

/** Returns the terms of every method that can be offered now, in the order of `methods`. */
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
  /** The declarations of the resource, the same for every price. */
  extensions?: Extensions;
}

const withOffers = (plain: PaymentRequired, offers: readonly SignedOffer[]): PaymentRequired =>
  offers.length === 0
    ? plain
    : { ...plain, extensions: { ...plain.extensions, [offerReceipt]: toOffersExtension(offers) } };

const withoutLastExtension = ({ extensions, ...plain }: PaymentRequired): PaymentRequired => {
  const kept = Object.entries(extensions ?? {}).slice(0, -1);
  return kept.length === 0 ? plain : { ...plain, extensions: Object.fromEntries(kept) };
};

/** Writes the header as far as there is room: always the terms, then declarations, then the first offers. */
const toHeader = (plain: PaymentRequired, offers: readonly SignedOffer[], headerBytes: number): string => {
  const header = encodeBase64Json(withOffers(plain, offers));
  if (header.length <= headerBytes) return header;
  if (offers.length > 0) return toHeader(plain, offers.slice(0, -1), headerBytes);
  return plain.extensions === undefined ? header : toHeader(withoutLastExtension(plain), [], headerBytes);
};

interface Build extends ChallengeRequest {
  error: string;
  /** Null signs nothing. */
  offerRegistry: OfferRegistry | null;
  headerBytes: number;
}

interface Built {
  challenge: Challenge;
  /** Null: nothing in it expires. */
  offers: SignedOffers | null;
}

const build = (methods: readonly PaymentMethod[], request: Build): Built => {
  const { price, resource, extensions, error, offerRegistry, headerBytes } = request;
  const terms = offeredTerms(methods, price);
  const [first] = terms;
  if (first === undefined)
    throw new AppError(
      'payment_unavailable',
      'No payment network can be used right now. Try again shortly.',
      {
        retryAfterSeconds: 10,
      },
    );
  const accepts = terms.map(({ requirements }) => requirements);
  const offers = offerRegistry?.offers(resource.url, accepts) ?? null;
  const plain: PaymentRequired = {
    x402Version: 2,
    error,
    resource,
    accepts,
    ...(extensions === undefined ? {} : { extensions }),
  };
  const { network, payTo } = first.method;
  const challenge: Challenge = {
    header: toHeader(plain, offers?.offers ?? [], headerBytes),
    paymentRequired: withOffers(plain, offers?.offers ?? []),
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
      accepts: terms
        .filter(({ method }) => suitsV1(method))
        .map(({ method, requirements }) => toV1(requirements, { network: method.network, resource })),
    },
  };
  return { challenge, offers };
};

export interface ChallengeRegistry {
  /** `reason` says why a proof was refused. Throws AppError `payment_unavailable` when no network can be offered. */
  challenge(request: ChallengeRequest & { reason?: string }): Challenge;
  /** Forgets all challenges: the support of a facilitator may have changed. */
  clear(): void;
}

export interface ChallengeRegistryOptions {
  /** Signs the offers; null signs nothing. */
  offerRegistry: OfferRegistry | null;
  /** The longest `PAYMENT-REQUIRED`. */
  headerBytes: number;
  /** Epoch milliseconds. */
  now: () => number;
}

interface Page extends Built {
  isRenewing: boolean;
}

/**
 * Makes each challenge once, and again when half the life of its offers is over. While they still bind, the new
 * challenge is made after the answer.
 */
export const createChallengeRegistry = (
  methods: readonly PaymentMethod[],
  { offerRegistry, headerBytes, now }: ChallengeRegistryOptions,
): ChallengeRegistry => {
  const pages = new LRUCache<string, Page>({ max: maxCached });
  const keyOf = ({ price, resource }: ChallengeRequest): string =>
    `${price} ${resource.url} ${resource.description}`;

  const write = (request: ChallengeRequest): Challenge => {
    const built = build(methods, { ...request, error: nothingWrong, offerRegistry, headerBytes });
    pages.set(keyOf(request), { ...built, isRenewing: false });
    return built.challenge;
  };

  const renewLater = (page: Page, request: ChallengeRequest): void => {
    if (page.isRenewing) return;
    page.isRenewing = true;
    setImmediate(() => {
      try {
        write(request);
      } catch {
        // Nothing can be offered, and the next request gets that error.
        pages.delete(keyOf(request));
      }
    });
  };

  return {
    challenge: ({ reason, ...request }) => {
      if (reason !== undefined)
        return build(methods, { ...request, error: reason, offerRegistry, headerBytes }).challenge;
      const page = pages.get(keyOf(request));
      if (page === undefined) return write(request);
      if (page.offers === null) return page.challenge;
      const time = now();
      if (time >= page.offers.goodUntil) return write(request);
      if (time >= page.offers.renewAt) renewLater(page, request);
      return page.challenge;
    },
    clear: () => pages.clear(),
  };
};

import { LRUCache } from 'lru-cache';
import { AppError } from '../../kit/errors.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import { encodeBase64Json } from './base64-json.ts';
import {
  offerReceipt,
  toOffersExtension,
  type SignedOffer,
  type SignOffers,
} from '../extensions/offer-receipt.ts';
import type { PaymentNetwork } from './network-family.ts';
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
  /** Names the wallet of an address (`NetworkFamily.findWallet`); null when no node answers. */
  findWallet: (address: string) => Promise<string | null>;
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

const nanoDecimals = 9;
/** The store keeps amounts in 64 bits: 9.22 USD at 18 decimals, and the dearest request costs 0.50. */
const maxAmount = 2n ** 63n - 1n;

/**
 * Converts a price to the asset's smallest unit, exactly. Throws RangeError for a price that is not above zero, that is
 * too big to be stored, or that is finer than the smallest unit, as rounding would charge another price.
 */
export const toSmallestUnit = (price: Nano, decimals: number): bigint => {
  if (price <= 0n) throw new RangeError('a price must be above zero');
  const scale = 10n ** BigInt(Math.abs(decimals - nanoDecimals));
  if (decimals < nanoDecimals && price % scale !== 0n)
    throw new RangeError(`a price of ${price} nano-dollars is finer than ${decimals} decimals`);
  const amount = decimals < nanoDecimals ? price / scale : price * scale;
  if (amount > maxAmount)
    throw new RangeError(`a price of ${price} nano-dollars is too big for ${decimals} decimals`);
  return amount;
};

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
  { scheme, payTo, maxTimeoutSeconds, asset, extra, amount }: PaymentRequirements,
  { network, resource }: { network: PaymentNetwork; resource: ResourceInfo },
): PaymentRequirementsV1 => ({
  scheme,
  network: network.v1Name,
  maxAmountRequired: amount,
  resource: resource.url,
  description: resource.description,
  mimeType: resource.mimeType,
  payTo,
  maxTimeoutSeconds,
  asset,
  extra,
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

interface OfferedTerms {
  method: PaymentMethod;
  requirements: PaymentRequirements;
}

/** Returns the terms of every method that can be offered now, in the order of `methods`. */
export const offeredTerms = (methods: readonly PaymentMethod[], price: Nano): OfferedTerms[] =>
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

/** The parts of a challenge that cost something to make. */
interface Parts {
  terms: readonly OfferedTerms[];
  offers: readonly SignedOffer[];
}

const write = (
  { price, resource, extensions }: ChallengeRequest,
  { terms, offers }: Parts,
  { error, headerBytes }: { error: string; headerBytes: number },
): Challenge => {
  const [first] = terms;
  if (first === undefined)
    throw new AppError(
      'payment_unavailable',
      'No payment network can be used right now. Try again shortly.',
      { retryAfterSeconds: 10 },
    );
  const { network, payTo } = first.method;
  const accepts = terms.map(({ requirements }) => requirements);
  const plain: PaymentRequired = {
    x402Version: 2,
    error,
    resource,
    accepts,
    ...(extensions === undefined ? {} : { extensions }),
  };
  return {
    header: toHeader(plain, offers, headerBytes),
    paymentRequired: Object.freeze(withOffers(plain, offers)),
    body: Object.freeze({
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
    }),
  };
};

export type ChallengeRegistry = ReturnType<typeof createChallengeRegistry>;

/** Half the time for which offers bind, so that every buyer has the other half. */
const renewMs = (maxTimeoutSeconds * 1000) / 2;

/** Makes each challenge once, and again when half the life of its offers is over. */
export const createChallengeRegistry = (
  methods: readonly PaymentMethod[],
  options: {
    /** Null signs nothing. */
    signOffers: SignOffers | null;
    /** The longest `PAYMENT-REQUIRED`. */
    headerBytes: number;
    /** Epoch milliseconds. */
    now: () => number;
  },
) => {
  const { signOffers, headerBytes, now } = options;
  const pages = new LRUCache<string, Parts & { challenge: Challenge; renewAt: number }>({ max: maxCached });
  const pageFor = (request: ChallengeRequest) => {
    const { price, resource } = request;
    const key = `${price} ${resource.url} ${resource.description}`;
    const known = pages.get(key);
    if (known !== undefined && now() < known.renewAt) return known;
    const terms = offeredTerms(methods, price);
    const accepts = terms.map(({ requirements }) => requirements);
    const parts = { terms, offers: signOffers?.(resource.url, accepts) ?? [] };
    const challenge = write(request, parts, { error: nothingWrong, headerBytes });
    const page = { ...parts, challenge, renewAt: now() + renewMs };
    pages.set(key, page);
    return page;
  };
  return {
    /** `reason` says why a proof was refused. Throws AppError `payment_unavailable` when no network can be offered. */
    challenge: ({ reason, ...request }: ChallengeRequest & { reason?: string }): Challenge => {
      const page = pageFor(request);
      return reason === undefined ? page.challenge : write(request, page, { error: reason, headerBytes });
    },
    /** Forgets all challenges: the support of a facilitator may have changed. */
    clear: (): void => pages.clear(),
  };
};

import { LRUCache } from 'lru-cache';
import { AppError } from '../../kit/errors.ts';
import { formatUsd, nanoDecimals, type Nano } from '../../kit/money.ts';
import {
  encodeBase64Json,
  type Extensions,
  type PaymentRequired,
  type PaymentRequiredBody,
  type PaymentRequirements,
  type PaymentRequirementsV1,
  type PaymentScheme,
  type ResourceInfo,
} from '../chains/core/wire.ts';
import { offerReceipt, toOffersExtension, type SignedOffer, type SignOffers } from './signed-documents.ts';
import { gasSponsoring, gasSponsoringDeclaration } from './extensions.ts';
import type {
  FundsQuestion,
  PayingWallet,
  PaymentNetwork,
  SignedText,
  UnsignedTransfer,
} from '../chains/core/network-family.ts';
import type { Facilitator } from '../chains/core/facilitator.ts';

export interface PaymentMethod {
  network: PaymentNetwork;
  payTo: string;
  facilitator: Facilitator;
  /** Reads what a payment's source can pay, in the asset's smallest unit; null when no node answers. */
  readFunds: (of: FundsQuestion) => Promise<bigint | null>;
  /** Names the wallet of a payer (`NetworkFamily.findWallet`); null when no node answers. */
  findWallet: (of: PayingWallet) => Promise<string | null>;
  /** Makes a transfer that its wallet has yet to sign (`NetworkFamily.prepareTransfer`); null when no node answers. */
  prepareTransfer: (of: UnsignedTransfer) => Promise<string | null>;
  /** Names the wallet that signed a message (`NetworkFamily.findSigner`). Throws RpcOutage and RpcRefusal. */
  findSigner: (signed: SignedText, signal: AbortSignal) => Promise<string | null>;
}

/** The terms of a payment, for every version of x402. */
export interface Challenge {
  /** The base64 v2 terms, for `PAYMENT-REQUIRED`; with fewer signed offers where all would make it too long. */
  header: string;
  /** The v2 terms, for MCP. */
  paymentRequired: PaymentRequired;
  /** The body of the 402, for people and for v1 clients. */
  body: PaymentRequiredBody;
  /** The same terms in the dialects of the request; absent for none. */
  inDialects?: {
    headers: Readonly<Record<string, string>>;
    /** Says why a credential was refused; null without a credential. */
    problem: DialectProblem | null;
  };
}

/** Problem details (RFC 9457). */
export interface DialectProblem {
  type: string;
  title: string;
  status: 402;
  detail: string;
}

/** EVM buyers sign it into their proof. It leaves room to settle again after an outage. */
export const maxTimeoutSeconds = 300;
/** The part of the life of an `upto` payment that is for its settlement. */
const settlementSeconds = 60;
const maxCached = 512;
/** The `error` of terms for a request without payment. */
export const nothingWrong = 'Payment required';

/** The store keeps amounts in 64 bits: at 18 decimals 9.22 USD. */
const maxAmount = 2n ** 63n - 1n;

/** Returns the largest price, in whole tenths of a cent, that a token of these decimals can pay. */
export const largestPrice = (decimals: number): Nano => {
  const tenthOfCent = 10n ** BigInt(decimals - 3);
  return (maxAmount / tenthOfCent) * 10n ** BigInt(nanoDecimals - 3);
};

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

/** A call that is also sold by the scheme `upto`: it takes the use, at most the price. */
export interface UptoTerms {
  /** The longest time that the work takes after the verification. */
  workSeconds: number;
}

/** Returns the terms of a method: first `upto`, if it is asked for and settled there, then `exact`. */
const toRequirements = (
  { network, payTo, facilitator }: PaymentMethod,
  price: Nano,
  upto: UptoTerms | null,
): PaymentRequirements[] => {
  const { asset } = network;
  const supported = facilitator.supports() ?? network.family.readSupported(undefined);
  if (supported === 'unsupported') return [];
  const termsOf = (
    scheme: PaymentScheme,
    { seconds, extra, isPermit2 }: { seconds: number; extra: Record<string, unknown>; isPermit2: boolean },
  ): PaymentRequirements => ({
    scheme,
    network: network.id,
    asset: asset.address,
    amount: toSmallestUnit(price, asset.decimals).toString(),
    payTo,
    maxTimeoutSeconds: seconds,
    extra: {
      ...extra,
      ...asset.eip712,
      // Without it clients sign ERC-3009.
      ...(isPermit2 ? { assetTransferMethod: 'permit2' } : {}),
      facilitator: facilitator.address(),
    },
  });
  const isPermit2 = asset.transfer === 'permit2';
  const exact = termsOf('exact', { seconds: maxTimeoutSeconds, extra: supported.extra, isPermit2 });
  if (upto === null || supported.upto === undefined) return [exact];
  const seconds = maxTimeoutSeconds + upto.workSeconds + settlementSeconds;
  return [termsOf('upto', { seconds, extra: supported.upto, isPermit2: true }), exact];
};

/** The seconds for which a payment must still be good when it is verified, under terms of the scheme `upto`. */
export const uptoSecondsLeft = ({ maxTimeoutSeconds: seconds }: PaymentRequirements): number =>
  seconds - maxTimeoutSeconds;

/** Permit2 came with v2. */
const suitsV1 = ({ network }: PaymentMethod): boolean =>
  network.isInV1 && network.asset.transfer !== 'permit2';

const toV1 = (
  { payTo, maxTimeoutSeconds, asset, extra, amount }: PaymentRequirements,
  { network, resource }: { network: PaymentNetwork; resource: ResourceInfo },
): PaymentRequirementsV1 => ({
  scheme: 'exact',
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
    const { extra, upto } = supported;
    return [
      { x402Version: 2, scheme: 'exact', network: network.id, extra },
      ...(suitsV1(method) ? [{ x402Version: 1, scheme: 'exact', network: network.v1Name, extra }] : []),
      ...(upto === undefined ? [] : [{ x402Version: 2, scheme: 'upto', network: network.id, extra: upto }]),
    ];
  });
  return locals.length === 0 ? null : JSON.stringify({ kinds, extensions: [], signers: {} });
};

export interface OfferedTerms {
  method: PaymentMethod;
  requirements: PaymentRequirements;
}

/** Returns the terms of every method that can be offered now and can take the price, in the order of `methods`. */
export const offeredTerms = (
  methods: readonly PaymentMethod[],
  price: Nano,
  upto: UptoTerms | null = null,
): OfferedTerms[] =>
  methods
    .filter(({ network }) => price <= largestPrice(network.asset.decimals))
    .flatMap((method) =>
      toRequirements(method, price, upto).map((requirements) => ({ method, requirements })),
    );

export interface ChallengeRequest {
  price: Nano;
  resource: ResourceInfo;
  /** The declarations of the resource, the same for every price. */
  extensions?: Extensions;
  /** Absent: `exact` alone. */
  upto?: UptoTerms | null;
  /** The declarations of this one challenge. They come first, so they stay longest in a full header. */
  ownExtensions?: Extensions;
}

const withOffers = (plain: PaymentRequired, offers: readonly SignedOffer[]): PaymentRequired =>
  offers.length === 0
    ? plain
    : { ...plain, extensions: { ...plain.extensions, [offerReceipt]: toOffersExtension(offers) } };

const withoutLastExtension = ({ extensions, ...plain }: PaymentRequired): PaymentRequired => {
  const kept = Object.entries(extensions ?? {}).slice(0, -1);
  return kept.length === 0 ? plain : { ...plain, extensions: Object.fromEntries(kept) };
};

/** Where a proof may need an approval first, the buyer can sign it in place of sending it. */
const withSponsoring = (
  extensions: Extensions | undefined,
  accepts: readonly PaymentRequirements[],
): Extensions | undefined =>
  accepts.some(({ scheme }) => scheme === 'upto')
    ? { [gasSponsoring]: gasSponsoringDeclaration, ...extensions }
    : extensions;

/** Writes the header as far as there is room: always the terms, then declarations, then the first offers. */
const toHeader = (plain: PaymentRequired, offers: readonly SignedOffer[], headerBytes: number): string => {
  const header = encodeBase64Json(withOffers(plain, offers));
  if (header.length <= headerBytes) return header;
  if (offers.length > 0) return toHeader(plain, offers.slice(0, -1), headerBytes);
  return plain.extensions === undefined ? header : toHeader(withoutLastExtension(plain), [], headerBytes);
};

interface Parts {
  terms: readonly OfferedTerms[];
  offers: readonly SignedOffer[];
}

const write = (
  { price, resource, extensions, ownExtensions }: ChallengeRequest,
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
  const declared = withSponsoring(extensions, accepts);
  const plain: PaymentRequired = {
    x402Version: 2,
    error,
    resource,
    accepts,
    ...(declared === undefined ? {} : { extensions: declared }),
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
        .filter(({ method, requirements }) => requirements.scheme === 'exact' && suitsV1(method))
        .map(({ method, requirements }) => toV1(requirements, { network: method.network, resource })),
      ...(ownExtensions === undefined ? {} : { extensions: ownExtensions }),
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
    signOffers: SignOffers | null;
    headerBytes: number;
    now: () => number;
  },
) => {
  const { signOffers, headerBytes, now } = options;
  const pages = new LRUCache<string, Parts & { challenge: Challenge; renewAt: number }>({ max: maxCached });
  const pageFor = (request: ChallengeRequest) => {
    const { price, resource, upto = null } = request;
    const key = `${price} ${upto?.workSeconds ?? ''} ${resource.url} ${resource.description}`;
    const known = pages.get(key);
    if (known !== undefined && now() < known.renewAt) return known;
    const terms = offeredTerms(methods, price, upto);
    const accepts = terms.map(({ requirements }) => requirements);
    const parts = { terms, offers: signOffers?.(resource.url, accepts) ?? [] };
    const challenge = write(request, parts, { error: nothingWrong, headerBytes });
    const page = { ...parts, challenge, renewAt: now() + renewMs };
    pages.set(key, page);
    return page;
  };
  return {
    /** `reason` says why a proof was refused. Throws AppError `payment_unavailable` when no network can be offered. */
    challenge: ({
      reason: error = nothingWrong,
      ownExtensions,
      ...request
    }: ChallengeRequest & { reason?: string }): Challenge => {
      const page = pageFor(request);
      if (ownExtensions !== undefined) {
        const extensions = { ...ownExtensions, ...request.extensions };
        return write({ ...request, extensions, ownExtensions }, page, { error, headerBytes });
      }
      return error === nothingWrong ? page.challenge : write(request, page, { error, headerBytes });
    },
    /** Forgets all challenges: the support of a facilitator may have changed. */
    clear: (): void => pages.clear(),
  };
};

import { LRUCache } from 'lru-cache';
import { throttle } from '../../kit/throttle.ts';
import type { Log } from '../../kit/log.ts';
import type { PaymentRequirements } from '../core/wire.ts';
import type { DocumentSigner } from './document-signer.ts';
import { payloadVersion, type SignedOffer } from './offer-receipt.ts';

/** Signed terms, and the time for which they bind. */
export interface SignedOffers {
  offers: SignedOffer[];
  /** Epoch milliseconds: from then on they should be signed again. */
  renewAt: number;
  /** Epoch milliseconds: from then on a buyer has too little time. */
  goodUntil: number;
}

export interface OfferRegistry {
  /** Returns an offer for each of the terms, in their order; null when nothing can be signed. Never throws. */
  offers(resourceUrl: string, accepts: readonly PaymentRequirements[]): SignedOffers | null;
}

export interface OfferRegistryOptions {
  /** Returns null while the key is not known. */
  signer: () => DocumentSigner | null;
  /** Epoch milliseconds. */
  now: () => number;
  log: Log;
}

interface Offer {
  signature: string;
  validUntil: number;
}

/** As long as the terms allow: for this time they hold, even when the price changes. */
const lifeOf = ({ maxTimeoutSeconds }: PaymentRequirements): number => maxTimeoutSeconds * 1000;
/** All prices and resources on some eight networks. */
const maxKept = 4_096;
const complainEveryMs = 60_000;

/** Signs each offer once in half its life, even when other parts of the challenge change. */
export const createOfferRegistry = ({ signer, now, log }: OfferRegistryOptions): OfferRegistry => {
  const kept = new LRUCache<string, Offer>({ max: maxKept });
  const complain = throttle<unknown>(complainEveryMs, (error, leftOut) =>
    log.error({ err: error, leftOut }, 'offers could not be signed; challenges go out without'),
  );

  const offerFor = (documents: DocumentSigner, resourceUrl: string, terms: PaymentRequirements): Offer => {
    const { scheme, network, asset, payTo, amount } = terms;
    const key = [resourceUrl, scheme, network, asset, payTo, amount].join('\n');
    const known = kept.get(key);
    if (known !== undefined && known.validUntil - now() > lifeOf(terms) / 2) return known;
    const validUntilSeconds = Math.floor((now() + lifeOf(terms)) / 1000);
    const payload = { version: payloadVersion, resourceUrl, scheme, network, asset, payTo, amount };
    const signature = documents.sign({ ...payload, validUntil: validUntilSeconds });
    const made = { signature, validUntil: validUntilSeconds * 1000 };
    kept.set(key, made);
    return made;
  };

  return {
    offers: (resourceUrl, accepts) => {
      const documents = signer();
      if (documents === null || accepts.length === 0) return null;
      try {
        const offers = accepts.map((terms) => offerFor(documents, resourceUrl, terms));
        const until = Math.min(...offers.map(({ validUntil }) => validUntil));
        const lifeMs = Math.min(...accepts.map(lifeOf));
        return {
          offers: offers.map(({ signature }, acceptIndex) => ({ format: 'jws', acceptIndex, signature })),
          renewAt: until - lifeMs / 2,
          goodUntil: until - lifeMs / 5,
        };
      } catch (error) {
        complain(error);
        return null;
      }
    },
  };
};

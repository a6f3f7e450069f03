import { importJWK, type JWK } from 'jose';
import {
  decodeSignedOffers,
  findAcceptsObjectFromSignedOffer,
  verifyOfferSignatureJWS,
} from '@x402/extensions/offer-receipt';
import { describe, expect, it } from 'vitest';
import { silentLog, type Log } from '../../../src/kit/log.ts';
import {
  createDocumentSigner,
  newSigningKey,
  createSignOffers,
  type DocumentSigner,
} from '../../../src/payments/wire/signed-documents.ts';
import type { PaymentRequirements } from '../../../src/payments/chains/core/wire.ts';

const resourceUrl = 'https://leads.example/v1/search';
const terms = (network: PaymentRequirements['network'], amount = '100000'): PaymentRequirements => ({
  scheme: 'exact',
  network,
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  amount,
  payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
  maxTimeoutSeconds: 300,
  extra: { name: 'USDC', version: '2' },
});
const accepts = [terms('eip155:84532'), terms('eip155:8453')];
const lifeMs = 300_000;
const start = 1_800_000_000_000;

const real = createDocumentSigner({ key: newSigningKey(), publicUrl: () => 'https://leads.example' });

const createFixture = (options: { signer?: () => DocumentSigner | null; log?: Log } = {}) =>
  createSignOffers({
    signer: options.signer ?? (() => real),
    now: () => start,
    log: options.log ?? silentLog,
  });

const publicKey = async () => {
  const { verificationMethod } = real.didDocument() as { verificationMethod?: { publicKeyJwk: JWK }[] };
  return importJWK(verificationMethod?.[0]?.publicKeyJwk ?? {});
};

describe('signed offers', () => {
  it('state the terms of each network, and are verified by the x402 package', async () => {
    const signOffers = createFixture();
    const offers = signOffers(resourceUrl, accepts);
    expect(offers).toHaveLength(2);
    for (const [index, offer] of offers.entries()) {
      const payload = await verifyOfferSignatureJWS(offer, (await publicKey()) as never);
      const { scheme, network, asset, amount, payTo } = accepts[index] ?? {};
      expect(payload).toEqual({
        version: 1,
        resourceUrl,
        scheme,
        network,
        asset,
        amount,
        payTo,
        validUntil: (start + lifeMs) / 1000,
      });
    }
    const found = decodeSignedOffers(offers).map((offer) => findAcceptsObjectFromSignedOffer(offer, accepts));
    expect(found).toEqual(accepts);
  });

  it('are refused by the x402 package once a term was changed', async () => {
    const signOffers = createFixture();
    const [offer] = signOffers(resourceUrl, accepts);
    const [header, payload, signature] = offer?.signature.split('.') ?? [];
    const cheaper = Buffer.from(payload ?? '', 'base64url')
      .toString()
      .replace('100000', '000001');
    const forged = [header, Buffer.from(cheaper).toString('base64url'), signature].join('.');
    await expect(
      verifyOfferSignatureJWS(
        { format: 'jws', acceptIndex: 0, signature: forged },
        (await publicKey()) as never,
      ),
    ).rejects.toThrow('signature verification failed');
  });

  it('are left out while there is no key, and when there is nothing to offer', () => {
    expect(createFixture({ signer: () => null })(resourceUrl, accepts)).toEqual([]);
    expect(createFixture()(resourceUrl, [])).toEqual([]);
  });

  it('are left out when they cannot be signed, which is logged once in a while', () => {
    const lines: unknown[] = [];
    const log = { ...silentLog, error: (fields: unknown) => void lines.push(fields) } as Log;
    const sign = () => {
      throw new Error('the key is gone');
    };
    const signOffers = createFixture({ signer: () => ({ ...real, sign }), log });
    expect(signOffers(resourceUrl, accepts)).toEqual([]);
    expect(signOffers(resourceUrl, accepts)).toEqual([]);
    expect(lines).toHaveLength(1);
  });
});

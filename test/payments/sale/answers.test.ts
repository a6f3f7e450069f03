import { extractReceiptPayload, verifyReceiptSignatureJWS } from '@x402/extensions/offer-receipt';
import { importJWK, type JWK } from 'jose';
import { describe, expect, it } from 'vitest';
import { silentLog, type Log } from '../../../src/kit/log.ts';
import {
  addReceipt,
  createDocumentSigner,
  newSigningKey,
  type DocumentSigner,
} from '../../../src/payments/wire/signed-documents.ts';
import { toSettleResponse } from '../../../src/payments/sale/answers.ts';

const signer = createDocumentSigner({ key: newSigningKey(), publicUrl: () => 'https://leads.example' });
const clock = { now: () => 1_800_000_000_999 };
const payment = { identity: 'a payment', resourceUrl: 'https://leads.example/v1/search' };
const payer = '0x857b06519E91e3A54538791bDbb0E22373e36b66';
const settled = toSettleResponse({ network: 'eip155:84532', payer }, { transaction: '0xabc' });

const addReceiptWith =
  (current: DocumentSigner | null, log: Log = silentLog) =>
  (...receipt: [typeof settled, typeof payment]) =>
    addReceipt({ signer: () => current, clock, log }, ...receipt);

describe('the receipt of a settled payment', () => {
  it('is verified by the x402 package, and says who paid for what, when and where on the chain', async () => {
    const { extensions, ...response } = addReceiptWith(signer)(settled, payment);
    expect(response).toEqual(settled);
    const receipt = extensions?.['offer-receipt']?.info['receipt'];
    const { verificationMethod } = signer.didDocument() as { verificationMethod?: { publicKeyJwk: JWK }[] };
    const key = await importJWK(verificationMethod?.[0]?.publicKeyJwk ?? {});
    const payload = await verifyReceiptSignatureJWS(receipt as never, key as never);
    expect(payload).toEqual({
      version: 1,
      network: 'eip155:84532',
      resourceUrl: 'https://leads.example/v1/search',
      payer,
      issuedAt: 1_800_000_000,
      transaction: '0xabc',
    });
    expect(extractReceiptPayload(receipt as never)).toEqual(payload);
  });

  it.each([
    ['that failed', { ...settled, success: false, errorReason: 'expired' }],
    ['of nobody known', toSettleResponse({ network: 'eip155:84532', payer: null }, { transaction: '0xabc' })],
  ])('is none for a settlement %s', (_what, response) => {
    expect(addReceiptWith(signer)(response, payment)).toBe(response);
  });

  it('is left out while there is no key', () => {
    expect(addReceiptWith(null)(settled, payment)).toBe(settled);
  });

  it('is left out when it cannot be signed, which is logged and ends nothing', () => {
    const lines: unknown[] = [];
    const log = { ...silentLog, error: (fields: unknown) => void lines.push(fields) } as Log;
    const sign = () => {
      throw new Error('the key is gone');
    };
    expect(addReceiptWith({ ...signer, sign }, log)(settled, payment)).toBe(settled);
    expect(lines).toMatchObject([{ payment: 'a payment', err: { message: 'the key is gone' } }]);
  });
});

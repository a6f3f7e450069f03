import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import { encodeBase64Json } from '../../../src/payments/chains/core/wire.ts';
import { hasProof, parseProof, type Proofs } from '../../../src/payments/wire/parse-proof.ts';

const authorization = {
  from: `0x${'aB'.repeat(20)}`,
  to: `0x${'cD'.repeat(20)}`,
  value: '100000',
  validAfter: '0',
  validBefore: '1893456000',
  nonce: `0x${'eF'.repeat(32)}`,
};
const evmPayload = { signature: `0x${'Ab'.repeat(65)}`, authorization };
const v1 = { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload: evmPayload };
const accepted = {
  scheme: 'exact',
  network: 'eip155:84532',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  amount: '100000',
  payTo: authorization.to,
  maxTimeoutSeconds: 300,
  extra: { name: 'USDC', version: '2' },
};
const v2 = { x402Version: 2, accepted, payload: evmPayload };
const solana = {
  x402Version: 2,
  accepted: { ...accepted, network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', extra: { feePayer: 'F' } },
  payload: { transaction: 'AQID' },
};

const refusal = (proofs: Proofs): string => {
  try {
    parseProof(proofs);
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_payment') return error.message;
    throw error;
  }
  return 'read';
};

describe('a proof', () => {
  it('is the same payload in both versions, with hex in lower case', () => {
    const one = parseProof({ xPayment: encodeBase64Json(v1) });
    const two = parseProof({ paymentSignature: encodeBase64Json(v2) });
    expect(one.payload).toEqual(two.payload);
    expect(two.payload).toMatchObject({ authorization: { from: `0x${'ab'.repeat(20)}`, value: '100000' } });
    expect([one.accepted, two.accepted]).toEqual([
      null,
      { asset: accepted.asset, amount: '100000', payTo: accepted.payTo, feePayer: null },
    ]);
  });

  it('may come over MCP as an object or as base64, plain or URL-safe', () => {
    const text = encodeBase64Json(v2);
    const urlSafe = text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
    const proofs = [{ meta: v2 }, { meta: text }, { meta: urlSafe }].map((proof) => parseProof(proof));
    expect(proofs).toEqual(Array.from({ length: 3 }, () => parseProof({ paymentSignature: text })));
  });

  it('of a transfer through Permit2 is read with its addresses in lower case, and nothing more than its terms', () => {
    const from = `0x${'Ab'.repeat(20)}`;
    const signed = {
      from,
      permitted: { token: `0x${'Cd'.repeat(20)}`, amount: '100' },
      spender: `0x${'40'.repeat(20)}`,
      nonce: '115792089237316195423570985008687907853269984665640564039457584007913129639935',
      deadline: '1800000000',
      witness: { to: `0x${'Ef'.repeat(20)}`, validAfter: '0' },
    };
    const payload = {
      signature: `0x${'11'.repeat(65)}`,
      permit2Authorization: { ...signed, more: 1 },
      more: 2,
    };
    const read = parseProof({ meta: { ...v2, payload } }).payload;
    expect(read).toEqual({
      signature: payload.signature,
      permit2Authorization: {
        ...signed,
        from: from.toLowerCase(),
        permitted: { token: `0x${'cd'.repeat(20)}`, amount: '100' },
        witness: { to: `0x${'ef'.repeat(20)}`, validAfter: '0' },
      },
    });
    const broken = (change: object) => () =>
      parseProof({
        meta: { ...v2, payload: { ...payload, permit2Authorization: { ...signed, ...change } } },
      });
    expect(broken({ nonce: '0x1' })).toThrow(/payload\.permit2Authorization\.nonce: must be a whole number/);
    expect(broken({ nonce: `${signed.nonce.slice(0, -1)}6` })).toThrow(/nonce: is too big/);
    expect(broken({ witness: undefined })).toThrow(/payload\.permit2Authorization\.witness/);
    expect(broken({ permitted: { ...signed.permitted, amount: '1e5' } })).toThrow(/permitted\.amount/);
  });

  it('names its network as it is configured', () => {
    const known = parseProof({ meta: v2 }).network;
    const configured = { ...known, asset: { ...known.asset, symbol: 'OTHER' } };
    expect(parseProof({ meta: v2 }, [configured]).network).toBe(configured);
  });

  it('carries the fee payer that a Solana buyer signed for', () => {
    expect(parseProof({ meta: solana })).toMatchObject({
      network: { v1Name: 'solana-devnet' },
      accepted: { feePayer: 'F' },
      payload: { transaction: 'AQID' },
    });
  });

  it('is absent when nothing was sent', () => {
    expect([null, {}, { meta: null }, { meta: undefined }].some(hasProof)).toBe(false);
    expect([{ xPayment: '' }, { paymentSignature: ' \t' }].some(hasProof)).toBe(false);
    expect([{ meta: 0 }, { xPayment: 'x' }].every(hasProof)).toBe(true);
  });

  it('is found beside an empty header of the other version', () => {
    const xPayment = encodeBase64Json(v1);
    expect(parseProof({ xPayment, paymentSignature: '' })).toEqual(parseProof({ xPayment }));
  });

  const evm = (change: object) => ({ ...v1, payload: { ...evmPayload, ...change } });
  const authorized = (change: object) => evm({ authorization: { ...authorization, ...change } });
  it.each<[string, unknown]>([
    ['a value with an exponent', authorized({ value: '1e5' })],
    ['a value as a number', authorized({ value: 100_000 })],
    ['a negative value', authorized({ value: '-1' })],
    ['a value with a leading zero', authorized({ value: '0100000' })],
    ['a value above 256 bits', authorized({ validBefore: (1n << 256n).toString() })],
    ['a short address', authorized({ from: '0xabcd' })],
    ['a short nonce', authorized({ nonce: '0x01' })],
    ['a signature of half a byte', evm({ signature: `0x${'a'.repeat(131)}` })],
    ['a signature of kilobytes', evm({ signature: `0x${'ab'.repeat(5_000)}` })],
    ['a Permit2 payload', { ...v1, payload: { signature: '0x', permit2Authorization: {} } }],
    ['a Solana payload under an EVM network', { ...v1, payload: { transaction: 'AQID' } }],
    ['an EVM payload under a Solana network', { ...solana, payload: evmPayload }],
    ['a transaction that is not base64', { ...solana, payload: { transaction: '***' } }],
    ['a transaction above 1232 bytes', { ...solana, payload: { transaction: 'AAAA'.repeat(412) } }],
    ['another scheme', { ...v2, accepted: { ...accepted, scheme: 'batch-settlement' } }],
    ['the scheme of v2 alone', { ...v1, scheme: 'upto' }],
    ['an unknown network', { ...v1, network: 'dogecoin' }],
    ['no terms', { ...v2, accepted: undefined }],
    ['no version', { ...v2, x402Version: undefined }],
    ['a list', [v2]],
    ['no payload', { ...v2, payload: null }],
  ])('is refused with what is wrong: %s', (_, proof) => {
    expect(refusal({ meta: proof })).toMatch(/^The payment proof cannot be read: .+\.$/);
    expect(refusal({ xPayment: encodeBase64Json(proof) })).toMatch(/^The payment proof cannot be read: /);
  });

  it('is refused in plain words where a part is missing', () => {
    expect(refusal({ meta: { ...v2, payload: undefined } })).not.toMatch(/Invalid|expected/);
    expect(refusal({ meta: { ...v2, accepted: { ...accepted, payTo: 7 } } })).toBe(
      'The payment proof cannot be read: accepted.payTo: is missing or has a wrong form.',
    );
  });

  it('never makes the reader fail, whatever it is', () => {
    const anything = fc.oneof(
      fc.anything(),
      fc.json(),
      fc.base64String(),
      fc.string({ unit: 'binary' }),
      fc.json().map((text) => Buffer.from(text).toString('base64')),
    );
    const nearly = fc
      .tuple(fc.constantFrom<object>(v1, v2, solana), fc.anything(), fc.anything(), fc.anything())
      .map(([proof, payload, terms, part]) => ({
        ...proof,
        ...(payload === undefined ? {} : { payload: { ...evmPayload, authorization: part, extra: payload } }),
        ...(terms === undefined ? {} : { accepted: { ...accepted, extra: terms } }),
      }));
    const text = fc.option(
      fc.oneof(
        fc.string(),
        fc.base64String(),
        nearly.map((value) => JSON.stringify(value)),
      ),
      {
        nil: undefined,
      },
    );
    const proofs = fc.record({ xPayment: text, paymentSignature: text, meta: fc.oneof(anything, nearly) });
    fc.assert(
      fc.property(proofs, (given) => {
        expect(refusal(given)).toMatch(/^(?:read$|The payment proof cannot be read: )/);
      }),
      { numRuns: 1_000 },
    );
  });
});

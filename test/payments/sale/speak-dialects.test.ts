import { Challenge, Credential } from 'mppx';
import { evm } from 'mppx/client';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseUsd } from '../../../src/kit/money.ts';
import { encodeBase64Json } from '../../../src/payments/chains/core/wire.ts';
import type { X402Gate } from '../../../src/payments/sale/gate.ts';
import { mpp } from '../../../src/payments/wire/mpp.ts';
import { describeSale } from '../wire/sale.ts';
import {
  createSale,
  priceUnits,
  served,
  startGateFixture,
  unpaid,
  type GateFixture,
  type Sale,
} from '../support/gate-fixture.ts';

let fixture: GateFixture;
beforeAll(async () => {
  fixture = await startGateFixture();
});
afterAll(() => fixture?.close());

const speak = (credential: string | null) => ({
  dialects: [{ dialect: mpp, credential, field: 'Authorization' }],
});

/** Asks a gate for a challenge, and signs it as the public client does. */
const sign = async (gate: X402Gate, sale: Sale): Promise<string> => {
  const { challenge } = unpaid(await gate.sellAnswer(sale.request(speak(null))));
  const [method] = evm({
    account: privateKeyToAccount(fixture.chains.base.buyer.privateKey),
    authorization: { name: 'USDC', version: '2' },
  });
  return method.createCredential({
    challenge: Challenge.deserialize(challenge.inDialects?.headers['www-authenticate'] ?? '') as never,
    context: {},
  });
};

const openAt = (aheadMs: number): X402Gate =>
  fixture.openGate({ clock: { now: () => Date.now() + aheadMs } });
const tooLateMs = 400_000;

describe('a challenge of MPP', () => {
  it('is paid at another process on the same store', async () => {
    const sale = createSale('here and there');
    const before = await fixture.balances('base');
    const credential = await sign(fixture.openGate(), sale);
    served(await fixture.openGate().sellAnswer(sale.request(speak(credential))));
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });

  it('cannot be paid when it has expired', async () => {
    const sale = createSale('too late');
    const credential = await sign(openAt(-tooLateMs), sale);
    const { challenge } = unpaid(await fixture.openGate().sellAnswer(sale.request(speak(credential))));
    expect(challenge.inDialects?.problem?.type).toBe('https://paymentauth.org/problems/payment-expired');
    expect(sale.produced).toBe(0);
  });

  it('gives its answer again when it has expired', async () => {
    const sale = createSale('asked again');
    const gate = fixture.openGate();
    const credential = await sign(gate, sale);
    const { result } = served(await gate.sellAnswer(sale.request(speak(credential))));
    const again = served(await openAt(tooLateMs).sellAnswer(sale.request(speak(credential))));
    expect(again).toMatchObject({ result, replayed: true });
  });

  it('differs from one that is made for the same request at the same moment', async () => {
    const sale = createSale('twice');
    const gate = fixture.openGate({ clock: { now: () => 1_800_000_000_000 } });
    const [first, second] = await Promise.all([sign(gate, sale), sign(gate, sale)]);
    expect(first).not.toBe(second);
  });

  it('keeps its price for as long as it lasts', async () => {
    const former = fixture.openGate({ sales: [{ ...describeSale(), pricing: 'before' }] });
    const stop = new AbortController();
    const ended = former.begin(stop.signal);
    await expect
      .poll(async () => (await fixture.store.listOfferedTerms({ since: 0 })).length)
      .toBeGreaterThan(0);
    stop.abort();
    await ended;
    const sale = createSale('dearer now');
    const credential = await sign(former, sale);
    const dearer = { price: parseUsd('0.50'), formerPrices: { before: parseUsd('0.10') } };
    const before = await fixture.balances('base');
    served(await fixture.openGate().sellAnswer(sale.request(speak(credential), dearer)));
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });
});

describe('an authorization that is sent in both dialects', () => {
  it('is one payment', async () => {
    const sale = createSale('in both');
    const gate = fixture.openGate();
    const credential = await sign(gate, sale);
    const { payload } = Credential.deserialize<Record<string, string>>(credential);
    const { upto: _upto, ...request } = sale.request(null);
    const { accepts } = gate.challenge(request).paymentRequired;
    const { signature, type: _type, ...authorization } = payload;
    const proof = { x402Version: 2, accepted: accepts[0], payload: { signature, authorization } };
    const before = await fixture.balances('base');
    served(await gate.sellAnswer(sale.request(speak(credential))));
    const paymentSignature = encodeBase64Json(proof);
    expect(served(await gate.sellAnswer(sale.request({ paymentSignature }))).replayed).toBe(true);
    expect(
      served(await gate.sellAnswer(sale.request({ paymentSignature, ...speak(credential) }))).replayed,
    ).toBe(true);
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
    expect(sale.produced).toBe(1);
  });
});

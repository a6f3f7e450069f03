import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { parseUsd } from '../../../src/kit/money.ts';
import { decodeBase64Json, encodeBase64Json } from '../../../src/payments/chains/core/wire.ts';
import type { Challenge, Proofs, X402Gate } from '../../../src/payments/sale/gate.ts';
import type { Store } from '../../../src/store/store.ts';
import { bnbPriceUnits, startBnbFixture, type BnbFixture } from '../support/bnb-fixture.ts';
import {
  codeOf,
  createSale,
  hasty,
  overRest,
  price,
  refusalOf,
  served,
  unpaid,
  untilPending,
} from '../support/gate-fixture.ts';

let fixture: BnbFixture;
let gate: X402Gate;
let challenge: Challenge;
beforeAll(async () => {
  fixture = await startBnbFixture();
  gate = fixture.openGate();
  challenge = gate.challenge({ price, ...overRest });
});
afterEach(() => fixture.chain.controls.clearFaults());
afterAll(() => fixture?.close());

const earned = (): Promise<bigint> => fixture.chain.balanceOf(fixture.chain.seller.address);

const permit2Proof = z.looseObject({
  accepted: z.record(z.string(), z.unknown()),
  payload: z.looseObject({
    signature: z.string(),
    permit2Authorization: z.looseObject({
      spender: z.string(),
      permitted: z.record(z.string(), z.string()),
      witness: z.record(z.string(), z.string()),
    }),
  }),
});

type Permit2Proof = z.infer<typeof permit2Proof>;

/** The proof with something changed after it was signed. */
const tamper = ({ paymentSignature }: Proofs, change: (proof: Permit2Proof) => void): Proofs => {
  const proof = permit2Proof.parse(decodeBase64Json(paymentSignature ?? ''));
  change(proof);
  return { paymentSignature: encodeBase64Json(proof) };
};

const nonceOf = ({ paymentSignature }: Proofs): bigint => {
  const { payload } = permit2Proof.parse(decodeBase64Json(paymentSignature ?? ''));
  return BigInt(String(payload.permit2Authorization['nonce']));
};

/** The gate behind HTTP, as far as a client of x402 v2 sees it. */
const startShop = async (): Promise<{ server: Server; url: string }> => {
  const sale = createSale('over HTTP');
  const server = createServer((request, response) => {
    const signature = request.headers['payment-signature'];
    const proofs = typeof signature === 'string' ? { paymentSignature: signature } : null;
    void gate.sellAnswer(sale.request(proofs)).then((outcome) => {
      if (outcome.outcome === 'unpaid') {
        response.writeHead(402, { 'payment-required': outcome.challenge.header });
        response.end(JSON.stringify(outcome.challenge.body));
        return;
      }
      response.writeHead(200, outcome.receipt?.headers).end(outcome.result);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { server, url: `http://127.0.0.1:${address.port}` };
};

describe('a payment through Permit2', () => {
  it('is asked for with 18 decimals and the method that clients must use', () => {
    expect(challenge.paymentRequired.accepts).toEqual([
      expect.objectContaining({
        network: 'eip155:97',
        asset: fixture.chain.usdc,
        amount: String(bnbPriceUnits),
        extra: { assetTransferMethod: 'permit2', facilitator: 'https://leads.example/x402' },
      }),
    ]);
  });

  it('is made by the stock client over HTTP, with a receipt', async () => {
    const buyer = await fixture.createBuyer();
    const before = await earned();
    const { server, url } = await startShop();
    try {
      const answer = await wrapFetchWithPayment(fetch, buyer.client)(url);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toEqual({ results: ['over HTTP'], count: 1 });
      const receipt = decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '');
      expect(receipt).toMatchObject({ success: true, network: 'eip155:97' });
      expect(receipt.payer?.toLowerCase()).toBe(buyer.address.toLowerCase());
    } finally {
      server.close();
    }
    expect(await earned()).toBe(before + bnbPriceUnits);
    expect(await fixture.chain.balanceOf(buyer.address)).toBe(10n ** 19n - bnbPriceUnits);
  });

  it('is refused with its reason when the buyer never let Permit2 take the token', async () => {
    const buyer = await fixture.createBuyer({ allowance: 0n });
    const sale = createSale('no allowance');
    const refused = unpaid(await gate.sellAnswer(sale.request(await buyer.prove(challenge))));
    expect(refused.challenge.body.error).toBe('permit2_allowance_required');
    expect(sale.produced).toBe(0);
  });

  it('is refused with its reason when the buyer has too little', async () => {
    const buyer = await fixture.createBuyer({ amount: bnbPriceUnits - 1n });
    const refused = unpaid(
      await gate.sellAnswer(createSale('too little').request(await buyer.prove(challenge))),
    );
    expect(refused.challenge.body.error).toBe('permit2_insufficient_balance');
  });

  it('sent ten times at once is served once and charged once, and later from the store', async () => {
    const buyer = await fixture.createBuyer();
    const sale = createSale('ten at once');
    const before = await earned();
    const proofs = await buyer.prove(challenge);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, () => gate.sellAnswer(sale.request(proofs))),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(served(await gate.sellAnswer(sale.request(proofs))).replayed).toBe(true);
    expect(sale.produced).toBe(1);
    expect(await earned()).toBe(before + bnbPriceUnits);
  });

  it('pays one request and no other', async () => {
    const buyer = await fixture.createBuyer();
    const proofs = await buyer.prove(challenge);
    served(await gate.sellAnswer(createSale('the first').request(proofs)));
    expect(await codeOf(gate.sellAnswer(createSale('another').request(proofs)))).toBe('payment_conflict');
  });

  it('with the same nonce and another signature is the same payment, and not its proof', async () => {
    const buyer = await fixture.createBuyer();
    const proofs = await buyer.prove(challenge);
    served(await gate.sellAnswer(createSale('by nonce').request(proofs)));
    const other = tamper(proofs, ({ payload }) => void (payload.signature = `0x${'11'.repeat(65)}`));
    expect(await codeOf(gate.sellAnswer(createSale('by nonce').request(other)))).toBe('payment_conflict');
  });

  it.each([
    [
      'the spender is not x402’s proxy',
      'payment_spender_mismatch',
      (proof: Permit2Proof): void =>
        void (proof.payload.permit2Authorization.spender = `0x${'12'.repeat(20)}`),
    ],
    [
      'the token is another',
      'payment_asset_mismatch',
      (proof: Permit2Proof): void =>
        void (proof.payload.permit2Authorization.permitted['token'] = `0x${'12'.repeat(20)}`),
    ],
    [
      'the recipient is another',
      'payment_recipient_mismatch',
      (proof: Permit2Proof): void =>
        void (proof.payload.permit2Authorization.witness['to'] = `0x${'12'.repeat(20)}`),
    ],
    [
      'the amount is less',
      'payment_amount_mismatch',
      (proof: Permit2Proof): void => void (proof.payload.permit2Authorization.permitted['amount'] = '1'),
    ],
    [
      'the signature is of somebody else',
      'invalid_permit2_signature',
      (proof: Permit2Proof): void => void (proof.payload.signature = `0x${'11'.repeat(64)}1b`),
    ],
  ] as const)('is refused when %s', async (_what, reason, change) => {
    const buyer = await fixture.createBuyer();
    const sale = createSale('changed');
    const refused = unpaid(await gate.sellAnswer(sale.request(tamper(await buyer.prove(challenge), change))));
    expect(refused.challenge.body.error).toBe(reason);
    expect(sale.produced).toBe(0);
  });

  it('is refused when it is signed as a transfer of the token itself', async () => {
    const required = structuredClone(challenge.paymentRequired);
    const accepts = required.accepts.map((terms) => ({ ...terms, extra: { name: 'USDC', version: '2' } }));
    const asked = { ...challenge, header: encodeBase64Json({ ...required, accepts }) };
    const buyer = await fixture.createBuyer();
    const refused = unpaid(
      await gate.sellAnswer(createSale('own transfer').request(await buyer.prove(asked))),
    );
    expect(refused.challenge.body.error).toBe('payment_method_mismatch');
  });

  it.each(['nonce', 'deadline', 'spender'])('cannot be read without its %s', async (field) => {
    const buyer = await fixture.createBuyer({ amount: 0n, allowance: 0n });
    const broken = tamper(
      await buyer.prove(challenge),
      ({ payload }) => void delete (payload.permit2Authorization as Record<string, unknown>)[field],
    );
    const refusal = await refusalOf(gate.sellAnswer(createSale('broken').request(broken)));
    expect(refusal).toMatchObject({ code: 'invalid_payment', status: 400 });
    expect(refusal.message).toContain(`payload.permit2Authorization.${field}`);
  });

  it('is sent alone when twenty come at once and Permit2 may take one price', async () => {
    const { controls } = fixture.chain;
    const buyer = await fixture.createBuyer({ allowance: bnbPriceUnits });
    const another = fixture.openGate();
    const requests = [];
    for (let index = 0; index < 20; index += 1)
      requests.push(createSale(`at once ${index}`).request(await buyer.prove(challenge)));
    const sends = (): number => controls.callCount('eth_sendRawTransaction');
    const before = sends();
    let answered = 0;
    await controls.setAutomine(false);
    const paying = Promise.allSettled(
      requests.map((request, index) =>
        (index % 2 === 0 ? gate : another).sellAnswer(request).finally(() => (answered += 1)),
      ),
    );
    // What was sent is not answered before the next block.
    await vi.waitFor(() => expect(answered + sends() - before).toBe(20), 60_000);
    const sent = sends() - before;
    await controls.mine();
    await controls.setAutomine(true);
    const ends = await paying;
    expect(sent).toBe(1);
    expect(ends.filter((end) => end.status === 'fulfilled' && end.value.outcome === 'served')).toHaveLength(
      1,
    );
  });

  it('whose nonce the buyer spends before the settlement is refused, and nobody is served', async () => {
    const buyer = await fixture.createBuyer();
    const sale = createSale('spent before');
    const proofs = await buyer.prove(challenge);
    const before = await earned();
    const request = sale.request(proofs);
    const produce: typeof request.produce = async (signal, payment) => {
      await fixture.chain.spendNonce(buyer, nonceOf(proofs));
      return request.produce(signal, payment);
    };
    const refused = unpaid(await gate.sellAnswer({ ...request, produce }));
    expect(refused.challenge.body.error).toBe('permit2_invalid_nonce');
    expect(await earned()).toBe(before);
  });

  it('whose settlement lost its answer is found on the chain', async () => {
    const buyer = await fixture.createBuyer();
    const sale = createSale('lost answer');
    const before = await earned();
    const proofs = await buyer.prove(challenge);
    const silent = fixture.openGate({ timeouts: hasty });
    const methods = ['eth_getTransactionReceipt', 'eth_getTransactionByHash', 'eth_getLogs'];
    const request = sale.request(proofs);
    const produce: typeof request.produce = (signal, payment) => {
      fixture.chain.controls.inject({ fault: 'unavailable', methods });
      return request.produce(signal, payment);
    };
    await untilPending(() => silent.sellAnswer({ ...request, produce }));
    fixture.chain.controls.clearFaults();
    expect(served(await gate.sellAnswer(sale.request(proofs))).replayed).toBe(true);
    expect(sale.produced).toBe(1);
    expect(await earned()).toBe(before + bnbPriceUnits);
  });

  it('is found by another process when the one that settled it died before it could write that down', async () => {
    const buyer = await fixture.createBuyer();
    const sale = createSale('died');
    const before = await earned();
    const proofs = await buyer.prove(challenge);
    const death = Promise.withResolvers<void>();
    const store: Store = {
      ...fixture.store,
      advancePayment: (input) => {
        if (input.to !== 'settled') return fixture.store.advancePayment(input);
        death.resolve();
        return new Promise(() => {});
      },
    };
    void fixture.openGate({ store }).sellAnswer(sale.request(proofs));
    await death.promise;
    const later = fixture.openGate({ clock: { now: () => Date.now() + 31_000 } });
    expect(served(await later.sellAnswer(sale.request(proofs))).replayed).toBe(true);
    expect(sale.produced).toBe(1);
    expect(await earned()).toBe(before + bnbPriceUnits);
  });

  it('costs as much as was named, at the dearest price too', async () => {
    const buyer = await fixture.createBuyer();
    const sale = createSale('dear');
    const dear = parseUsd('0.50');
    const before = await earned();
    const proofs = await buyer.prove(gate.challenge({ price: dear, ...overRest }));
    served(await gate.sellAnswer(sale.request(proofs, { price: dear })));
    expect(await earned()).toBe(before + 5n * bnbPriceUnits);
  });
});

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createCunningBuyer, type CunningBuyer } from '../support/batch-transfer.ts';
import {
  createSale,
  overRest,
  price,
  priceUnits,
  served,
  startGateFixture,
  type GateFixture,
} from '../support/gate-fixture.ts';

let fixture: GateFixture;
let cunning: CunningBuyer;
beforeAll(async () => {
  fixture = await startGateFixture();
});
// A payer whose settlements were reverted is refused for a while.
beforeEach(async () => {
  cunning = await createCunningBuyer(fixture.chains);
});
afterEach(() => {
  fixture.chains.base.controls.clearFaults();
  fixture.chains.solana.controls.clearFaults();
});
afterAll(() => fixture?.close());

const servedAmong = (results: PromiseSettledResult<{ outcome: string }>[]): number =>
  results.filter((result) => result.status === 'fulfilled' && result.value.outcome === 'served').length;

describe('a buyer who uses up the nonces of many proofs in one transaction that pays once', () => {
  it('gets one result', async () => {
    const gate = fixture.openGate();
    const { controls } = fixture.chains.base;
    const challenge = gate.challenge({ price, ...overRest });
    const proofs = await Promise.all([0, 1, 2, 3].map(() => cunning.buyer.prove(challenge, 'base')));
    const [first, ...others] = proofs;
    if (first === undefined) throw new Error('no proof');
    const calls = [cunning.honestCall(first), ...(await Promise.all(others.map(cunning.burningCall)))];
    const before = await fixture.balances('base');
    const sentBefore = controls.callCount('eth_sendRawTransaction');
    await controls.setAutomine(false);
    const paying = Promise.allSettled(
      proofs.map((proof, index) => gate.sellAnswer(createSale(`batch ${index}`).request(proof))),
    );
    await vi.waitFor(
      () => {
        if (controls.callCount('eth_sendRawTransaction') < sentBefore + 4)
          throw new Error('not all are sent yet');
      },
      { timeout: 60_000 },
    );
    await cunning.sendBatch(calls);
    await controls.mine();
    await controls.setAutomine(true);
    const results = await paying;
    expect((await fixture.balances('base')).seller - before.seller).toBe(priceUnits);
    expect(servedAmong(results)).toBe(1);
    const again = await Promise.allSettled(
      proofs.map((proof, index) => gate.sellAnswer(createSale(`batch ${index}`).request(proof))),
    );
    expect(servedAmong(again)).toBe(1);
  });

  it('is found out for good when the nonce went into a transfer to the buyer', async () => {
    const gate = fixture.openGate();
    const proof = await cunning.buyer.prove(gate.challenge({ price, ...overRest }), 'base');
    const request = createSale('burnt').request(proof);
    const produce: typeof request.produce = async (signal, payment) => {
      await cunning.landed(await cunning.sendBatch([await cunning.burningCall(proof)]));
      return request.produce(signal, payment);
    };
    expect(await gate.sellAnswer({ ...request, produce })).toMatchObject({ outcome: 'unpaid' });
    expect(await gate.sellAnswer(request)).toMatchObject({ outcome: 'unpaid' });
  });
});

describe.each(['base', 'solana'] as const)(
  'ten copies of a proof on %s whose result waits after an outage',
  (chain) => {
    it('are served once and charged once', async () => {
      const gate = fixture.openGate({
        timeouts: { rpcMs: 400, verifyMs: 1_500, settleMs: 5_000, queryMs: 1_000 },
      });
      const before = await fixture.balances(chain);
      const proof = await fixture.buyer.prove(gate.challenge({ price, ...overRest }), chain);
      const sale = createSale(`waiting ${chain}`);
      const request = sale.request(proof);
      const produce: typeof request.produce = (signal, payment) => {
        fixture.chains[chain].controls.inject({ fault: 'unavailable' });
        return request.produce(signal, payment);
      };
      await expect(gate.sellAnswer({ ...request, produce })).rejects.toMatchObject({
        code: 'payment_unavailable',
      });
      fixture.chains[chain].controls.clearFaults();
      const copies = await Promise.allSettled(
        Array.from({ length: 10 }, () => gate.sellAnswer(sale.request(proof))),
      );
      expect(servedAmong(copies)).toBe(1);
      expect((await fixture.balances(chain)).seller - before.seller).toBe(priceUnits);
      expect(served(await gate.sellAnswer(sale.request(proof))).replayed).toBe(true);
    });
  },
);

describe('a node that names an absurd gas price', () => {
  let node: Server;
  afterAll(() => node?.close());

  it('does not get the settling account to pay it, and the buyer is told to come back', async () => {
    const answerAbsurdly = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const body = await text(request);
      const headers = { 'content-type': 'application/json' };
      // Another file's client may still ask a port that it knew; that is no question to a node.
      if (body === '') return void response.writeHead(400).end();
      const answer = await fetch(fixture.chains.base.rpcUrl, { method: 'POST', headers, body });
      const { method } = JSON.parse(body) as { method: string };
      const said = (await answer.json()) as object;
      const absurd = { ...said, result: '0x38d7ea4c68000' };
      response
        .writeHead(200, headers)
        .end(JSON.stringify(method === 'eth_maxPriorityFeePerGas' ? absurd : said));
    };
    node = createServer((request, response) => void answerAbsurdly(request, response));
    node.listen(0, '127.0.0.1');
    await once(node, 'listening');
    const rpcUrl = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
    const networks = fixture.localNetworks.map((network) =>
      network.network.startsWith('eip155:')
        ? { ...network, facilitator: { ...network.facilitator, rpcUrl } }
        : network,
    );
    const gate = fixture.openGate({ networks });
    const before = await fixture.balances('base');
    const sentBefore = fixture.chains.base.controls.callCount('eth_sendRawTransaction');
    const proof = await fixture.buyer.prove(gate.challenge({ price, ...overRest }), 'base');
    await expect(gate.sellAnswer(createSale('dear').request(proof))).rejects.toMatchObject({
      code: 'payment_unavailable',
    });
    expect(fixture.chains.base.controls.callCount('eth_sendRawTransaction')).toBe(sentBefore);
    expect(await fixture.balances('base')).toEqual(before);
  });
});

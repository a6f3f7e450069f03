import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { decodeJwt } from 'jose';
import type { CdpKey } from '../../../src/payments/x402-settings.ts';
import { ConfigError } from '../../../src/kit/errors.ts';
import type { PayableNetwork } from '../../../src/payments/chains/payment-methods.ts';
import type { X402Gate } from '../../../src/payments/sale/gate.ts';
import { createRecordedLog } from '../../limits/recorded-log.ts';
import { createCdpGatekeeper, createEd25519Secret, type CdpGatekeeper } from '../support/cdp-gatekeeper.ts';
import { startFacilitatorServer, type FacilitatorServer } from '../support/facilitator-server.ts';
import {
  codeOf,
  createSale,
  overRest,
  price,
  priceUnits,
  served,
  startGateFixture,
  type GateFixture,
} from '../support/gate-fixture.ts';

const { secret, publicKey } = createEd25519Secret();
const cdpKey: CdpKey = { id: 'b7d0c4f2', secret };

let fixture: GateFixture;
let server: FacilitatorServer;
let gatekeeper: CdpGatekeeper;
let gate: X402Gate;

const networksWith = (key: CdpKey | null): PayableNetwork[] =>
  fixture.localNetworks.slice(0, 1).map((network) => ({
    ...network,
    facilitator: {
      kind: 'remote',
      endpoints: [{ url: server.url, cdpKey: key }],
      rpcUrl: fixture.chains.base.rpcUrl,
    },
  }));

beforeAll(async () => {
  fixture = await startGateFixture();
  gatekeeper = createCdpGatekeeper({ id: cdpKey.id, publicKey, now: () => Date.now() });
  server = await startFacilitatorServer(fixture.chains, { admit: (request) => gatekeeper.admit(request) });
});
beforeEach(async () => {
  gate = fixture.openGate({ networks: networksWith(cdpKey) });
  await gate.warmUp();
  gatekeeper.seen.length = 0;
});
afterEach(() => server.modes.clear());
afterAll(async () => {
  await server?.stop();
  await fixture?.close();
});

const prove = () => fixture.buyer.prove(gate.challenge({ price, ...overRest }), 'base');
const ask = async (path: string, authorization: string): Promise<number> => {
  const answer = await fetch(`${server.url}${path}`, { headers: { authorization } });
  await answer.body?.cancel();
  return answer.status;
};

describe('a facilitator that asks for a key of the Coinbase platform', () => {
  it('is paid through with one token for each request', async () => {
    expect(gate.status()).toMatchObject([{ ready: true, detail: null }]);
    served(await gate.sellAnswer(createSale('signed').request(await prove())));
    const uris = gatekeeper.seen.map((token) => decodeJwt(token.replace('Bearer ', ''))['uris']);
    const host = new URL(server.url).host;
    expect(uris).toEqual([[`POST ${host}/verify`], [`POST ${host}/settle`]]);
  });

  it('is asked with a token for what it supports, too', async () => {
    await gate.warmUp();
    const [token = ''] = gatekeeper.seen;
    expect(decodeJwt(token.replace('Bearer ', ''))['uris']).toEqual([
      `GET ${new URL(server.url).host}/supported`,
    ]);
  });

  it('lets no token in twice, nor elsewhere', async () => {
    await gate.warmUp();
    const [token = ''] = gatekeeper.seen;
    expect(await ask('/supported', token)).toBe(401);
    expect(await ask('/verify', token)).toBe(401);
  });

  it.each([
    ['without a key', null, 0],
    ['with the key of somebody else', { id: cdpKey.id, secret: createEd25519Secret().secret }, 0],
    ['under another name', { id: 'other', secret }, 0],
    ['with a clock two minutes behind', cdpKey, -121_000],
  ] satisfies [string, CdpKey | null, number][])(
    'does not serve us %s: no refusal of the proof, told once to the operator',
    async (name, key, skewMs) => {
      const { log, lines } = createRecordedLog();
      const wrong = fixture.openGate({
        networks: networksWith(key),
        log,
        clock: { now: () => Date.now() + skewMs },
      });
      await wrong.warmUp();
      const sale = createSale(`wrong ${name}`);
      const proofs = await prove();
      expect(await codeOf(wrong.sellAnswer(sale.request(proofs)))).toBe('payment_unavailable');
      expect(await codeOf(wrong.sellAnswer(sale.request(proofs)))).toBe('payment_unavailable');
      await wrong.warmUp();
      expect(sale.produced).toBe(0);
      expect(wrong.status()).toMatchObject([
        { ready: false, detail: `the facilitator ${server.url} does not accept our credentials (401)` },
      ]);
      const told = lines.filter((line) =>
        JSON.stringify(line).includes('a payment facilitator does not accept our credentials'),
      );
      expect(told).toHaveLength(1);
      expect(JSON.stringify(lines)).not.toContain(secret.slice(0, 40));
    },
  );

  it('and refuses it at the settlement only keeps the payment open until the key is mended', async () => {
    const before = await fixture.balances('base');
    const sale = createSale('revoked');
    const proofs = await prove();
    server.modes.set('/settle', { kind: 'say', status: 401, body: '{}' });
    expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    await gate.warmUp();
    expect(gate.status()).toMatchObject([
      { ready: true, detail: `the facilitator ${server.url} does not accept our credentials (401)` },
    ]);
    server.modes.clear();
    served(await gate.sellAnswer(sale.request(proofs)));
    expect(sale.produced).toBe(1);
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
    await gate.warmUp();
    expect(gate.status()).toMatchObject([{ ready: true, detail: null }]);
  });

  it('cannot be set up with a secret that is no key', () => {
    const open = () => fixture.openGate({ networks: networksWith({ id: 'x', secret: 'not a key' }) });
    expect(open).toThrow(ConfigError);
    expect(open).toThrow('X402_CDP_API_KEY_SECRET');
  });
});

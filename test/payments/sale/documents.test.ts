import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/kit/clock.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import { createX402Gate, type X402Gate, type X402GateOptions } from '../../../src/payments/sale/gate.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { describeSale, overMcp, overRest } from '../wire/sale.ts';
import { layStore } from '../../data-template.ts';

let dataDir: string;
let store: Store;
const gates: X402Gate[] = [];

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'causeway-documents-'));
  store = await openSqliteStore({ file: layStore(join(dataDir, 'store.sqlite')), inThisThread: true });
});
afterAll(async () => {
  await Promise.all(gates.map((gate) => gate.close()));
  await store.close();
  await rm(dataDir, { recursive: true, force: true });
});

/** A gate whose one facilitator nobody needs to ask: EVM terms hold without it. */
const openGate = (options: Partial<X402GateOptions> = {}): X402Gate => {
  const gate = createX402Gate({
    store,
    networks: [
      {
        network: 'eip155:84532',
        payTo: `0x${'b'.repeat(40)}`,
        facilitator: { kind: 'local', rpcUrl: 'http://127.0.0.1:1', privateKey: `0x${'1'.repeat(64)}` },
      },
    ],
    publicUrl: () => 'https://leads.example',
    sales: [describeSale()],
    clock: systemClock,
    log: silentLog,
    owner: 'test',
    ...options,
  });
  gates.push(gate);
  return gate;
};

const price = parseUsd('0.10');
const offersOf = (gate: X402Gate): unknown =>
  gate.challenge({ price, ...overRest }).paymentRequired.extensions?.['offer-receipt'];

describe('the key for offers and receipts', () => {
  it('is the same for all processes on one store', async () => {
    const [one, other] = await Promise.all([openGate().didDocument(), openGate().didDocument()]);
    expect(one).toBe(other);
    expect(JSON.parse(one)).toMatchObject({ id: 'did:web:leads.example' });
  });

  it('is loaded with the facilitators, and challenges go out without offers until then', async () => {
    const gate = openGate();
    expect(offersOf(gate)).toBeUndefined();
    await gate.warmUp();
    expect(offersOf(gate)).toMatchObject({ info: { offers: [{ format: 'jws', acceptIndex: 0 }] } });
  });

  it('is used from the moment that it is there, for challenges that were made before too', async () => {
    const gate = openGate();
    expect(offersOf(gate)).toBeUndefined();
    await gate.didDocument();
    expect(offersOf(gate)).toBeDefined();
  });

  it('is asked for again when the store could not be asked, and keeps nobody from buying', async () => {
    let failures = 1;
    const failing: Store = {
      ...store,
      getOrCreateSecret: (input) => {
        failures -= 1;
        return failures >= 0
          ? Promise.reject(new Error('the store is down'))
          : store.getOrCreateSecret(input);
      },
    };
    const gate = openGate({ store: failing });
    await expect(gate.didDocument()).rejects.toThrow('the store is down');
    expect(gate.challenge({ price, ...overRest }).body.x402.amount).toBe('0.10');
    await gate.warmUp();
    expect(offersOf(gate)).toBeDefined();
  });
});

describe('a challenge of a gate', () => {
  it('is the same object for everybody who asks for the same', async () => {
    const gate = openGate();
    await gate.warmUp();
    const first = gate.challenge({ price, ...overRest });
    expect(gate.challenge({ price, ...overRest })).toBe(first);
    expect(gate.challenge({ price, ...overMcp })).not.toBe(first);
  });
});

describe('what is sold', () => {
  it('is told as it is now, also where it was told otherwise before', () => {
    const gate = openGate();
    const told = (isSandbox: boolean): unknown =>
      gate.challenge({ price, ...overRest, isSandbox }).paymentRequired.resource?.description;
    expect(told(true)).toBe('Influencer search over generated, fictional profiles');
    expect(told(false)).toBe('Influencer search');
    expect(told(true)).toBe('Influencer search over generated, fictional profiles');
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import type { Challenge, SoldOutcome } from '../../../src/payments/sale/gate.ts';
import {
  createSale,
  overRest,
  price,
  priceUnits,
  served,
  startGateFixture,
  type GateFixture,
} from '../support/gate-fixture.ts';
import { walk, watchRequests } from './steps.ts';

/** One hangs until its caller gives up, the other refuses to work. */
const faults = [
  { fault: 'hang', since: 'the start' },
  { fault: 'error', since: 'the start' },
  { fault: 'hang', since: 'the result was made' },
  { fault: 'error', since: 'the result was made' },
] as const;
const chains = [
  { chain: 'base', expected: ['eth_call', 'eth_estimateGas', 'eth_sendRawTransaction'] },
  { chain: 'solana', expected: ['simulateTransaction', 'sendTransaction', 'getSignatureStatuses'] },
] as const;

/** Short for a call, so that the test is over soon. A call of a busy machine may take longer, which is told as an outage. */
const timeouts = { rpcMs: 250, verifyMs: 5_000, settleMs: 1_000, queryMs: 1_000 };

const maxTries = 20;

let fixture: GateFixture;
let challenge: Challenge;
let unwatch: () => void;
beforeAll(async () => {
  unwatch = watchRequests();
  fixture = await startGateFixture();
  challenge = fixture.openGate().challenge({ price, ...overRest });
});
afterEach(() => {
  fixture.chains.base.controls.clearFaults();
  fixture.chains.solana.controls.clearFaults();
});
afterAll(async () => {
  unwatch();
  await fixture?.close();
});

/** How a purchase ends: `served`, `unpaid`, or the code of its refusal. */
const endOf = async (work: Promise<SoldOutcome>): Promise<string> => {
  try {
    return (await work).outcome;
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
};

/** On a slow machine a call may take longer than it has, which is told as an outage. */
const payAtLast = async (pay: () => Promise<SoldOutcome>): Promise<SoldOutcome> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await pay();
    } catch (error) {
      const isPassing = error instanceof AppError && error.status === 503;
      if (!isPassing || tries === maxTries) throw error;
    }
  }
};

/** The methods that a gate asks of its node for the first payment. */
const methodsOf = async (chain: 'base' | 'solana'): Promise<string[]> => {
  // Loads what is large, before the first call that has a limit of time.
  served(
    await fixture
      .openGate()
      .sellAnswer(createSale('first').request(await fixture.buyer.prove(challenge, chain))),
  );
  const proofs = await fixture.buyer.prove(challenge, chain);
  const request = createSale(`undisturbed ${chain}`).request(proofs);
  const { steps } = await walk(() => fixture.openGate().sellAnswer(request), null);
  const calls = steps.flatMap((step) => /^before (\w+)/.exec(step)?.[1] ?? []);
  return [...new Set(calls)];
};

describe.each(chains)('a node of $chain that answers everything but one method', ({ chain, expected }) => {
  it.each(faults)(
    'gets no buyer refused, charged twice or served unpaid ($fault since $since)',
    async (outage) => {
      const { fault, since } = outage;
      const { controls } = fixture.chains[chain];
      const methods = await methodsOf(chain);
      expect(methods).toEqual(expect.arrayContaining([...expected]));
      for (const method of methods) {
        const sale = createSale(`${fault} ${method} ${since}`);
        const before = await fixture.balances(chain);
        const proofs = await fixture.buyer.prove(challenge, chain);
        const request = sale.request(proofs);
        const fail = () => controls.inject({ fault, methods: [method] });
        const isAtOnce = since === 'the start';
        let failing = isAtOnce ? fail() : null;
        const produce: typeof request.produce = (signal, payment) => {
          failing ??= fail();
          return request.produce(signal, payment);
        };
        const gate = fixture.openGate({ timeouts });
        const isExpected = expected.some((one) => one === method);
        let end = await endOf(gate.sellAnswer({ ...request, produce }));
        // Another call took too long before this one was made.
        while (isExpected && end !== 'served' && !failing?.hits)
          end = await endOf(gate.sellAnswer({ ...request, produce }));
        expect({ method, end }).toEqual({
          method,
          end: expect.stringMatching(/^(?:served|payment_unavailable|payment_pending)$/),
        });
        // The other methods are asked only while a chain is slow, or, to verify a proof, not any more.
        if (isExpected && isAtOnce) expect(failing?.hits).toBeGreaterThan(0);
        const earnedOf = async () => (await fixture.balances(chain)).seller - before.seller;
        if (end === 'served')
          expect({ method, earned: await earnedOf() }).toEqual({ method, earned: priceUnits });
        controls.clearFaults();
        const { result } = served(await payAtLast(() => gate.sellAnswer(request)));
        const again = served(await payAtLast(() => gate.sellAnswer(request)));
        expect({ method, ...again, earned: await earnedOf() }).toMatchObject({
          method,
          replayed: true,
          result,
          earned: priceUnits,
        });
        expect(JSON.parse(result)).toMatchObject({ count: 1 });
        expect(sale.produced).toBe(1);
      }
    },
  );
});

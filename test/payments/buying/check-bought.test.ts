import { describe, expect, it, onTestFinished } from 'vitest';
import { silentLog, type Log } from '../../../src/kit/log.ts';
import { checkBought } from '../../../src/payments/buying/create-buyer.ts';
import { findNetwork } from '../../../src/payments/chains/networks.ts';
import { createRecordedLog } from '../../limits/recorded-log.ts';
import { testEngines } from '../../store/open-test-store.ts';

const createdAt = 1_700_000_000_000;
const base = findNetwork('base')!;

describe.each(testEngines().map((engine) => [engine.kind, engine] as const))(
  'bought payments that are due, on %s',
  (_name, engine) => {
    /** `payloads`: the texts of their proofs, by their identities. */
    const open = async (payloads: Record<string, string>) => {
      const { store, remove } = await engine.create();
      onTestFinished(remove);
      for (const [identity, payload] of Object.entries(payloads))
        await store.recordBoughtPayment({
          identity,
          request: 'a request',
          upstream: 'a model',
          operation: 'create_image',
          jobId: null,
          soldPayment: null,
          network: identity.startsWith('broken') ? base.id : 'eip155:1',
          asset: 'a token',
          payTo: 'a seller',
          amount: 1n,
          price: 1n,
          payload,
          requirements: '{}',
          leaseUntil: createdAt,
          checkAt: createdAt,
          maxPerDay: 10n,
          now: createdAt,
        });
      const now = createdAt + 420_001;
      const check = (log: Log): Promise<void> =>
        checkBought(
          { store, clock: { now: () => now }, log },
          {
            networks: [{ ...base, key: '', rpcUrl: 'http://127.0.0.1:9' }],
            signal: new AbortController().signal,
          },
        );
      const checkAt = async (identity: string) => (await store.getBoughtPayment(identity))?.checkAt;
      return { check, checkAt, now };
    };

    it('are looked up again later where the chain does not tell', async () => {
      const { check, checkAt, now } = await open({ one: '{}' });
      await check(silentLog);
      expect(await checkAt('one')).toBe(now + 105_001);
    });

    it('are looked up though another one cannot be read, which is logged', async () => {
      const { check, checkAt, now } = await open({ 'broken first': '{', one: '{}', 'broken last': '{' });
      const { log, lines } = createRecordedLog();
      await check(log);
      expect(await checkAt('one')).toBe(now + 105_001);
      expect(await checkAt('broken first')).toBe(now + 60_000);
      expect(lines).toHaveLength(2);
      for (const payment of ['broken first', 'broken last'])
        expect(lines).toContainEqual(
          expect.objectContaining({
            payment,
            msg: 'a payment to an upstream could not be looked up',
          }),
        );
    });
  },
);

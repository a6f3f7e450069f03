import { describe, expect, it, onTestFinished } from 'vitest';
import { OutboundError, type OutboundFailure } from '../../../src/http/outbound.ts';
import type { CallProof, TriedCall } from '../../../src/http/pay-settings.ts';
import { withPurpose } from '../../../src/kit/call-purpose.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import { createBuyer } from '../../../src/payments/buying/create-buyer.ts';
import { centTerms, walletKey } from '../../mounts/x402-terms.ts';
import { testEngines } from '../../store/open-test-store.ts';

type Attempt = (proof: CallProof | null) => Promise<TriedCall<string>>;

const asked: TriedCall<string> = { result: 'unpaid', terms: centTerms, receipt: null };
const done: TriedCall<string> = { result: 'done', terms: null, receipt: null };
const busy: TriedCall<string> = { ...done, busy: { retryAfter: '0' } };

describe.each(testEngines().map((engine) => [engine.kind, engine] as const))(
  'a call that is sold, on %s',
  (_name, engine) => {
    const open = async () => {
      const { store, remove } = await engine.create();
      onTestFinished(remove);
      /** A process that makes the call of the one job. */
      const call = (attempt: Attempt): Promise<string> => {
        const buyer = createBuyer({
          store,
          clock: { now: Date.now },
          log: silentLog,
          sold: [],
          soldForTestMoney: { searches: false, tools: false },
        });
        const limits = { maxPerCall: parseUsd('0.10'), maxPerDay: parseUsd('1.00') };
        const pay = { setting: 'pay', keys: [walletKey], networks: ['base-sepolia'], ...limits };
        const paying = buyer.payForCalls({ upstream: 'mcp_servers.far', pay });
        const { signal } = new AbortController();
        const sold = { name: 'echo', input: {}, maxPrice: parseUsd('0.10'), signal };
        return withPurpose({ operation: 'tool', jobId: 'job', soldPayment: null }, () =>
          paying(sold, attempt),
        );
      };
      const states = async () =>
        (await store.listBoughtPayments({ before: null, limit: 10 })).map(({ state }) => state);
      return { call, states };
    };

    it.each([
      ['signed it', 0],
      ['found it', 1],
    ])(
      'may be paid when one of two processes of its job sent the proof, and the one that %s could not',
      async (_which, failing) => {
        const { call, states } = await open();
        const [isAsked, isSigned, isFound, hasFailed] = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
        const proofs: string[] = [];
        const send = async (process: number, { header }: CallProof): Promise<TriedCall<string>> => {
          proofs.push(header);
          (process === 0 ? isSigned : isFound)?.resolve();
          if (process !== failing) await hasFailed?.promise;
          else {
            await isFound?.promise;
            throw new OutboundError('unreachable', 'The host does not accept a connection.');
          }
          return done;
        };
        // Both are asked to pay before one of them signs.
        const signs = call(async (proof) => {
          if (proof !== null) return send(0, proof);
          await isAsked?.promise;
          return asked;
        });
        const finds = call(async (proof) => {
          if (proof !== null) return send(1, proof);
          isAsked?.resolve();
          await isSigned?.promise;
          return asked;
        });
        const [fails, waits] = failing === 0 ? [signs, finds] : [finds, signs];
        await expect(fails).rejects.toMatchObject({ name: 'PurchaseError', mayBePaid: true });
        expect(await states()).toEqual(['sent']);
        hasFailed?.resolve();
        expect(await waits).toBe('done');
        expect([proofs.length, new Set(proofs).size, await states()]).toEqual([2, 1, ['answered']]);
      },
    );

    it.each<OutboundFailure>(['unreachable', 'unresolved', 'busy'])(
      'gives its proof back to the budget where it was never sent: %s',
      async (failure) => {
        const { call, states } = await open();
        const attempt: Attempt = async (proof) => {
          if (proof === null) return asked;
          throw new OutboundError(failure, failure);
        };
        await expect(call(attempt)).rejects.toMatchObject({ failure });
        expect(await states()).toEqual(['unused']);
      },
    );

    it.each<OutboundFailure>(['unreachable', 'unresolved', 'busy'])(
      'may be paid when its server was busy and is not reached again: %s',
      async (failure) => {
        const { call, states } = await open();
        let sends = 0;
        const attempt: Attempt = async (proof) => {
          if (proof === null) return asked;
          sends += 1;
          if (sends === 1) return busy;
          throw new OutboundError(failure, failure);
        };
        await expect(call(attempt)).rejects.toMatchObject({ name: 'PurchaseError', mayBePaid: true });
        expect(await states()).toEqual(['sent']);
      },
    );
  },
);

import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { stringify } from 'yaml';
import { startDeadline } from '../../src/kit/deadline.ts';
import { formatUsd, parseUsd } from '../../src/kit/money.ts';
import { maxSearchMs } from '../../src/leads/upstream/http-source.ts';
import { encodeBase64Json } from '../../src/payments/chains/core/wire.ts';
import { createTestDatabase } from '../cli/test-database.ts';
import { buildLead } from '../leads/build-lead.ts';
import { startStubService, type StubRequest, type StubService } from '../leads/upstream/stub-service.ts';
import { centTerms, payYaml, walletKey } from '../mounts/x402-terms.ts';
import { openAccount } from '../mcp/open-account.ts';
import { paymentSettings } from '../mcp/start-services.ts';
import { startTestGateway, whenSearchReady, type TestGateway } from './start-test-gateway.ts';

let service: StubService;
const found = [buildLead({ username: 'yogi' })];

beforeAll(async () => {
  service = await startStubService({ kind: 'json', value: found });
});
afterAll(() => service.close());

const start = async (environment: Record<string, string>, more: object = {}): Promise<TestGateway> => {
  const gateway = await startTestGateway({
    environment: { ...paymentSettings, LEADS_SOURCES: 'http', ...environment },
    yaml: stringify({
      leads: {
        http: { url: `${service.origin}/find`, parameters: { q: '{query}', limit: '{limit}' }, ...more },
      },
    }),
  });
  await whenSearchReady(gateway);
  return gateway;
};

const balanceOf = async ({ services: { store } }: TestGateway, accountId: string): Promise<string> => {
  const account = await store.getAccount(accountId);
  return formatUsd((account?.balance ?? 0n) - (account?.held ?? 0n));
};

const real = ({ services }: TestGateway, usd: string) => openAccount(services, { amount: parseUsd(usd) });

describe('a search of real profiles from the balance', () => {
  it('costs real money, never sandbox credit, and nothing while the source fails', async () => {
    const gateway = await start({ SEARCH_FROM_BALANCE: 'on' });
    try {
      const { apiKey, accountId } = await real(gateway, '1.00');
      const headers = { 'idempotency-key': 'one' };
      service.answer({ kind: 'json', status: 500, value: {} });
      const failed = await gateway.call('/v1/search?query=yoga', { apiKey, headers });
      expect([failed.status, await failed.json()]).toMatchObject([
        502,
        { error: { code: 'upstream_error' } },
      ]);
      expect(await balanceOf(gateway, accountId)).toBe('1.00');
      service.answer({ kind: 'json', value: found });
      // The failure has freed the key.
      const answer = await gateway.call('/v1/search?query=yoga', { apiKey, headers });
      expect(await answer.json()).toEqual({ results: found, count: 1 });
      expect(answer.headers.get('x-causeway-sandbox')).toBeNull();
      expect(await balanceOf(gateway, accountId)).toBe('0.90');
      const buyer = await openAccount(gateway.services, { amount: parseUsd('1.00'), isSandbox: true });
      expect((await gateway.call('/v1/search?query=yoga', { apiKey: buyer.apiKey })).status).toBe(402);
      expect(await balanceOf(gateway, buyer.accountId)).toBe('1.00');
    } finally {
      await gateway.stop();
    }
  });

  it('is answered by a source that sells its answers, which is paid once', async () => {
    const gateway = await start({ SEARCH_FROM_BALANCE: 'on', WALLET_KEY: walletKey }, { pay: payYaml });
    try {
      const isPaid = ({ headers }: StubRequest): boolean => headers['payment-signature'] !== undefined;
      const terms = { 'payment-required': encodeBase64Json(centTerms) };
      service.answer((request) => ({
        kind: 'json',
        value: found,
        ...(isPaid(request) ? {} : { status: 402, headers: terms }),
      }));
      const { apiKey } = await real(gateway, '1.00');
      const answer = await gateway.call('/v1/search?query=yoga', { apiKey });
      expect(await answer.json()).toEqual({ results: found, count: 1 });
      expect(await gateway.services.store.listBoughtPayments({ before: null, limit: 10 })).toMatchObject([
        { state: 'answered', upstream: 'leads.http', operation: 'search', jobId: expect.any(String) },
      ]);
    } finally {
      service.answer({ kind: 'json', value: found });
      await gateway.stop();
    }
  });

  it('is answered for the payment that its source took before it failed', async () => {
    const gateway = await start({ SEARCH_FROM_BALANCE: 'on', WALLET_KEY: walletKey }, { pay: payYaml });
    const { store } = gateway.services;
    try {
      const proofs: unknown[] = [];
      const terms = { 'payment-required': encodeBase64Json(centTerms) };
      let isDown = true;
      service.answer(({ headers: { 'payment-signature': proof } }) => {
        if (proof === undefined) return { kind: 'json', status: 402, value: {}, headers: terms };
        proofs.push(proof);
        return isDown
          ? { kind: 'json', status: 503, value: {}, headers: { 'retry-after': '0' } }
          : { kind: 'json', value: found };
      });
      const { apiKey, accountId } = await real(gateway, '1.00');
      const search = () =>
        gateway.call('/v1/search?query=yoga', { apiKey, headers: { 'idempotency-key': 'one' } });
      expect((await search()).status).toBe(502);
      expect(await balanceOf(gateway, accountId)).toBe('1.00');
      isDown = false;
      expect(await (await search()).json()).toEqual({ results: found, count: 1 });
      expect(await balanceOf(gateway, accountId)).toBe('0.90');
      expect(proofs.length).toBeGreaterThan(1);
      expect(new Set(proofs).size).toBe(1);
      expect(await store.listBoughtPayments({ before: null, limit: 10 })).toMatchObject([
        { state: 'answered', price: parseUsd('0.01') },
      ]);
      // The payment counts for the search that was charged.
      const sums = await store.sumBoughtPayments({ from: 0, to: Number.MAX_SAFE_INTEGER });
      expect(sums).toMatchObject([
        { operation: 'search', payments: 1, bought: parseUsd('0.01'), charged: parseUsd('0.10') },
      ]);
    } finally {
      service.answer({ kind: 'json', value: found });
      await gateway.stop();
    }
  });

  it('may take as long as its sources may, and is charged', async () => {
    const gateway = await start({ SEARCH_FROM_BALANCE: 'on', LEADS_TIMEOUT_MS: String(maxSearchMs) });
    onTestFinished(() => void vi.restoreAllMocks());
    onTestFinished(() => void vi.useRealTimers());
    const asked = Promise.withResolvers<void>();
    const { leads } = gateway.services;
    const find = leads.search;
    vi.spyOn(leads, 'search').mockImplementation(async (query, options) => {
      asked.resolve();
      await new Promise((resolve) => setTimeout(resolve, maxSearchMs));
      options.signal.throwIfAborted();
      return find(query, options);
    });
    try {
      const { apiKey, accountId } = await real(gateway, '1.00');
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      vi.spyOn(AbortSignal, 'timeout').mockImplementation(
        (totalMs) => startDeadline({ totalMs, signals: [] }).signal,
      );
      const answering = gateway.call('/v1/search?query=yoga', { apiKey });
      await asked.promise;
      await vi.advanceTimersByTimeAsync(maxSearchMs);
      const answer = await answering;
      expect([answer.status, await answer.json()]).toEqual([200, { results: found, count: 1 }]);
      expect(await balanceOf(gateway, accountId)).toBe('0.90');
    } finally {
      vi.useRealTimers();
      await gateway.stop();
    }
  });

  it('is limited for each account, by all its keys', async () => {
    const gateway = await start({ SEARCH_FROM_BALANCE: 'on', SEARCH_RATE_PER_MINUTE: '2' });
    try {
      const { apiKey } = await real(gateway, '1.00');
      const other = await real(gateway, '1.00');
      const statuses: unknown[] = [];
      for (const key of [apiKey, apiKey, apiKey, other.apiKey]) {
        const { status, headers } = await gateway.call('/v1/search?query=yoga', { apiKey: key });
        statuses.push([status, headers.get('x-ratelimit-remaining-requests')]);
      }
      expect(statuses).toEqual([
        [200, '1'],
        [200, '0'],
        [429, '0'],
        [200, '1'],
      ]);
    } finally {
      await gateway.stop();
    }
  });

  it('takes no balance where it is switched off: a key changes nothing', async () => {
    const gateway = await start({});
    try {
      const { apiKey, accountId } = await real(gateway, '1.00');
      const searched = async (key: string | null): Promise<unknown[]> => {
        const answer = await gateway.call('/v1/search?query=yoga', { apiKey: key });
        return [answer.status, await answer.json()];
      };
      expect(await searched(apiKey)).toEqual(await searched(null));
      expect(await searched('sk_causeway_wrong')).toEqual(await searched(null));
      expect(await balanceOf(gateway, accountId)).toBe('1.00');
    } finally {
      await gateway.stop();
    }
  });
});

const database = await createTestDatabase();

describe.skipIf(database === null)('two gateways on one PostgreSQL', () => {
  it('never sell more searches than the balance covers, and sell one for one idempotency key', async () => {
    const environment = {
      DATABASE_URL: database?.url ?? '',
      SEARCH_FROM_BALANCE: 'on',
      SEARCH_RATE_PER_MINUTE: '1000',
    };

    const first = await start(environment);
    const second = await start(environment);
    try {
      const { apiKey, accountId } = await real(first, '0.55');
      const search = (index: number, headers = {}): Promise<Response> =>
        (index % 2 === 0 ? first : second).call(`/v1/search?query=yoga`, { apiKey, headers });
      const same = { 'idempotency-key': 'one' };
      const repeated = await Promise.all([0, 1, 2, 3].map((index) => search(index, same)));
      expect(repeated.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(await balanceOf(first, accountId)).toBe('0.45');
      const many = await Promise.all(Array.from({ length: 12 }, (_, index) => search(index)));
      expect(many.filter(({ status }) => status === 200)).toHaveLength(4);
      expect(many.filter(({ status }) => status === 402)).toHaveLength(8);
      expect(await balanceOf(second, accountId)).toBe('0.05');
      expect(await first.services.store.checkLedger()).toMatchObject({ problems: [], openHolds: 0 });
    } finally {
      await first.stop();
      await second.stop();
      await database?.drop();
    }
  });
});

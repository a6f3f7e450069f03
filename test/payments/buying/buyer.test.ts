import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { type PayConfig, PurchaseError } from '../../../src/http/pay-settings.ts';
import { withPurpose, type CallPurpose } from '../../../src/kit/call-purpose.ts';
import { createHttpClient, type HttpClient } from '../../../src/http/http-client.ts';
import { OutboundError } from '../../../src/http/outbound.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import { evmFamily } from '../../../src/payments/chains/evm/evm-family.ts';
import { solanaFamily } from '../../../src/payments/chains/solana/solana-family.ts';
import { checkBought, createBuyer } from '../../../src/payments/buying/create-buyer.ts';
import { openWallet } from '../../../src/payments/buying/open-wallet.ts';
import type { BoughtPayment, Store } from '../../../src/store/store.ts';
import { searchPrice, startPaidSearch, type PaidSearch } from '../../e2e/start-paid-search.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';

let seller: PaidSearch;
let keys: string[];
let sold: ReturnType<typeof readConfig>['x402']['networks'];

const nothing = { searches: false, tools: false };
/** Of an image, in the smallest unit of USDC. */
const imagePrice = 40_000n;

beforeAll(async () => {
  seller = await startPaidSearch({ environment: { WALLET_ACCOUNTS: 'on' } });
  const { base, solana, environment } = seller.chains;
  const [evm, svm] = await Promise.all([evmFamily.createWallet(), solanaFamily.createWallet()]);
  await base.mint(evm.address as `0x${string}`, 100n * searchPrice);
  await solana.mint(svm.address, 100n * searchPrice);
  keys = [String(Reflect.get(evm, 'privateKey')), String(Reflect.get(svm, 'secretKey'))];
  sold = readConfig(environment, null).x402.networks;
});

afterAll(() => seller.stop());

type Asked = { path: string; body?: object } & Partial<CallPurpose>;

/** A call with a proof fails, or its process dies, before it is sent or after its answer came; or a 402 answers it. */
type Fault = 'fails before' | 'fails after' | 'dies before' | 'dies after' | 'refused' | 'unreachable';

describe.each(['base', 'solana'] as const)('a buyer on %s', (chain) => {
  let place: TestStore;
  let store: Store;
  let http: HttpClient;
  let faults: Fault[];
  let proofs: unknown[];
  /** Milliseconds ahead of the system's clock. */
  let ahead: number;

  beforeEach(async () => {
    place = await testEngines()[0]!.create();
    ({ store } = place);
    [faults, proofs, ahead] = [[], [], 0];
    http = createHttpClient({ connectMs: 5_000 });
  });
  afterEach(async () => {
    await http.close();
    await place.remove();
  });

  const clock = { now: () => Date.now() + ahead };
  const payWith = (limits: Partial<PayConfig>): PayConfig => ({
    setting: 'pay',
    keys,
    maxPerCall: parseUsd('0.10'),
    maxPerDay: parseUsd('1.00'),
    networks: [seller.chains[chain].network],
    ...limits,
  });

  /** Strikes a call that sends a proof. */
  const struck = async <Answer>(
    headers: Record<string, string> = {},
    call: (headers: Record<string, string>) => Promise<Answer>,
  ): Promise<Answer> => {
    const { 'payment-signature': proof, ...unpaid } = headers;
    if (proof === undefined) return call(headers);
    proofs.push(proof);
    const [fault] = faults;
    // Whoever waits for the end of the faults waits for this answer.
    if (fault?.endsWith('after') === true) await call(headers).finally(() => faults.shift());
    else faults.shift();
    if (fault === 'refused') return call(unpaid);
    if (fault === 'unreachable') throw new OutboundError('unreachable', fault);
    if (fault?.startsWith('dies') === true) return new Promise(() => undefined);
    if (fault !== undefined) throw new OutboundError('broken_off', fault);
    return call(headers);
  };

  /** A process that buys, on the same store as all others. */
  const open = (limits: Partial<PayConfig> = {}) => {
    const faulty: HttpClient = {
      ...http,
      receive: (url, request) =>
        struck(request.headers, (headers) => http.receive(url, { ...request, headers })),
    };
    const buyer = createBuyer({ store, clock, log: silentLog, sold, soldForTestMoney: nothing });
    return buyer.payFor(faulty, { upstream: 'seller', pay: payWith(limits) });
  };
  const ask = async (paying: HttpClient, { path, body, jobId = null, ...more }: Asked): Promise<string> =>
    withPurpose({ operation: 'test', jobId, soldPayment: null, ...more }, async () => {
      const chunks: Buffer[] = [];
      const { status } = await paying.receive(`${seller.gateway.url}${path}`, {
        timeouts: { totalMs: 30_000 },
        limits: { totalBytes: 1_000_000 },
        onData: (chunk) => {
          chunks.push(chunk);
          return false;
        },
        ...(body === undefined
          ? {}
          : {
              method: 'POST' as const,
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify(body),
            }),
      });
      expect(status).toBe(200);
      return Buffer.concat(chunks).toString();
    });
  const search = (paying: HttpClient, query: string, purpose: Partial<CallPurpose> = {}): Promise<string> =>
    ask(paying, { path: `/v1/search?query=${query}&limit=3`, ...purpose });
  /** Each search from a balance is a job of its own, also one that is repeated. */
  const fromBalance = (jobId: string) => ({ operation: 'search', jobId });
  const draw = (paying: HttpClient, jobId: string): Promise<string> =>
    ask(paying, {
      path: '/v1/images/generations',
      body: { model: 'imagemodel-1.0', prompt: 'a boat' },
      jobId,
    });
  const list = (): Promise<BoughtPayment[]> => store.listBoughtPayments({ before: null, limit: 100 });
  const spent = async (): Promise<bigint> => (await store.listBoughtSpending(clock.now()))[0]?.spent ?? 0n;

  it('pays for an answer once, and writes it down', async () => {
    const charged = await seller.charged(async () => {
      expect(JSON.parse(await search(open(), 'travel'))).toMatchObject({ results: expect.any(Array) });
    });
    expect(charged).toBe(searchPrice);
    expect(await list()).toMatchObject([
      { state: 'answered', price: parseUsd('0.10'), transaction: expect.any(String), checkAt: null },
    ]);
    expect(await spent()).toBe(parseUsd('0.10'));
  });

  it.each(['fails before', 'fails after'] as const)(
    'searches again with the same proof: %s',
    async (fault) => {
      faults = [fault];
      const paying = open();
      const charged = await seller.charged(async () => {
        await expect(search(paying, 'food')).rejects.toThrow(OutboundError);
        await search(paying, 'food');
        // An answer that came is not given again.
        await search(paying, 'food');
      });
      expect(charged).toBe(2n * searchPrice);
      expect(proofs[1]).toBe(proofs[0]);
      expect(proofs[2]).not.toBe(proofs[0]);
    },
  );

  it.each(['fails before', 'fails after'] as const)(
    'searches again from a balance with the same proof, which is then for the job that is answered: %s',
    async (fault) => {
      faults = [fault];
      const paying = open();
      const charged = await seller.charged(async () => {
        await expect(search(paying, 'sports', fromBalance('failed'))).rejects.toThrow(OutboundError);
        await search(paying, 'sports', fromBalance('answered'));
        expect(await list()).toMatchObject([{ state: 'answered', operation: 'search', jobId: 'answered' }]);
        // An answer that came is not given again.
        await search(paying, 'sports', fromBalance('later'));
      });
      expect(charged).toBe(2n * searchPrice);
      expect(proofs[1]).toBe(proofs[0]);
      expect(proofs[2]).not.toBe(proofs[0]);
      expect((await list()).map(({ jobId }) => jobId)).toEqual(['later', 'answered']);
    },
  );

  it.each(['fails before', 'fails after', 'dies before', 'dies after'] as const)(
    'pays once for a job that is tried again: %s',
    async (fault) => {
      faults = [fault];
      const charged = await seller.charged(async () => {
        const first = draw(open(), 'job').catch(() => null);
        await vi.waitUntil(() => proofs.length === 1 && faults.length === 0, { timeout: 60_000 });
        if (fault.startsWith('fails')) await first;
        const answer = await draw(open(), 'job');
        // And once more, as when the process dies before it has written the end of the job.
        expect(JSON.parse(await draw(open(), 'job'))).toMatchObject({ id: JSON.parse(answer).id });
      });
      expect(charged).toBe(imagePrice);
      expect(new Set(proofs).size).toBe(1);
      expect(await list()).toMatchObject([{ state: 'answered', jobId: 'job' }]);
    },
  );

  it('sends nothing beyond the budget of the day, over all processes', async () => {
    const limits = { maxPerDay: parseUsd('0.20') };
    const charged = await seller.charged(async () => {
      const buyers = [open(limits), open(limits)];
      // Each finds somebody: a search that finds nobody is free, and would leave the budget to another.
      const paths = [1, 2, 3, 4, 5].map((limit) => `/v1/search?limit=${limit}`);
      const ends = await Promise.allSettled(paths.map((path, index) => ask(buyers[index % 2]!, { path })));
      const failed = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
      expect(failed).toHaveLength(3);
      for (const error of failed) {
        expect(error).toBeInstanceOf(PurchaseError);
        expect(error).toMatchObject({ mayBePaid: false, message: expect.stringContaining('budget') });
      }
    });
    expect(charged).toBe(2n * searchPrice);
    expect(proofs).toHaveLength(2);
  });

  it('signs nothing above the limit of a call, nor on another network', async () => {
    await expect(search(open({ maxPerCall: parseUsd('0.09') }), 'beauty')).rejects.toThrow(
      'max_usd_per_call',
    );
    await expect(search(open({ networks: ['eip155:1'] }), 'beauty')).rejects.toThrow('allowed networks');
    expect(await list()).toEqual([]);
  });

  it('buys what a job reads, and pays for no question about work that has begun', async () => {
    const read = { path: '/v1/search?limit=6', jobId: 'job' };
    const charged = await seller.charged(async () => {
      await expect(ask(open(), { ...read, isQuestion: true })).rejects.toThrow('expected 402 to be 200');
      await ask(open(), read);
    });
    expect([charged, proofs.length]).toEqual([searchPrice, 1]);
  });

  it('gives a proof back to the budget that could not be sent', async () => {
    faults = ['unreachable'];
    await expect(draw(open(), 'job')).rejects.toMatchObject({ failure: 'unreachable' });
    expect(await spent()).toBe(0n);
    await draw(open(), 'job');
    expect(new Set(proofs).size).toBe(2);
    expect((await list()).map(({ state }) => state)).toEqual(['answered', 'unused']);
  });

  it('never pays twice for a job whose upstream gives no answer for its proof; a search pays anew', async () => {
    const charged = await seller.charged(async () => {
      faults = ['fails after', 'refused'];
      await expect(draw(open(), 'job')).rejects.toThrow(OutboundError);
      const again = draw(open(), 'job');
      await expect(again).rejects.toMatchObject({ name: 'PurchaseError', mayBePaid: true });
      faults = ['fails after', 'refused'];
      await expect(search(open(), 'music')).rejects.toThrow(OutboundError);
      await search(open(), 'music');
      faults = ['fails after', 'refused'];
      await expect(search(open(), 'art', fromBalance('one'))).rejects.toThrow(OutboundError);
      await search(open(), 'art', fromBalance('two'));
    });
    expect(charged).toBe(imagePrice + 4n * searchPrice);
    const states = (await list()).map(({ jobId, state }) => [jobId, state]);
    expect(states).toEqual([
      ['two', 'answered'],
      ['two', 'lost'],
      [null, 'answered'],
      [null, 'lost'],
      ['job', 'lost'],
    ]);
  });

  // The last one, as it moves the time of the chains.
  it('signs anew for a job only when its proof was not taken and has expired', async () => {
    faults = ['dies before'];
    void draw(open(), 'job').catch(() => null);
    await vi.waitUntil(() => proofs.length === 1, { timeout: 60_000 });
    const { base, solana } = seller.chains;
    ahead = 24 * 3_600_000;
    await base.controls.advanceSeconds(24 * 3_600);
    await base.controls.mine();
    solana.controls.expireBlockhash();
    solana.controls.advanceSlots(64);
    const { networks } = openWallet(payWith({}), sold);
    await checkBought({ store, clock, log: silentLog }, { networks, signal: new AbortController().signal });
    expect(await list()).toMatchObject([{ state: 'unused' }]);
    expect(await spent()).toBe(0n);
    // The blocks of Base are a day ahead now, so its seller takes no proof any more.
    await draw(open(), 'job').catch(() => null);
    expect(proofs[1]).not.toBe(proofs[0]);
  });
});

describe('a buyer for a gateway', () => {
  const open = (goods: 'searches' | 'tools' | 'models', network: string, isSoldForTestMoney: boolean) => {
    const soldForTestMoney = { searches: isSoldForTestMoney, tools: isSoldForTestMoney };
    const buyer = createBuyer({ store: {} as Store, clock: Date, log: silentLog, sold, soldForTestMoney });
    const limits = { maxPerCall: 1n, maxPerDay: 1n };
    const of = { upstream: 'far', pay: { setting: 'pay', keys, networks: [network], ...limits } };
    if (goods === 'tools') return buyer.payForCalls(of);
    return (goods === 'searches' ? buyer.payForSearches : buyer.payFor)({} as HttpClient, of);
  };

  it.each([
    ['searches', 'X402_NETWORKS to main networks'],
    ['tools', 'WALLET_ACCOUNTS=off'],
  ] as const)('buys no %s with real money that are sold for test money', (goods, remedy) => {
    expect(() => open(goods, 'base', true)).toThrow(
      `pay.networks: Base has real money, and this gateway sells ${goods} for test money. Name a test network, or set ${remedy}`,
    );
    expect(open(goods, 'base-sepolia', true)).toBeDefined();
    expect(open(goods, 'base', false)).toBeDefined();
  });

  it('buys answers of models with real money', () => {
    expect(open('models', 'base', true)).toBeDefined();
  });
});

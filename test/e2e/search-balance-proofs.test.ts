import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { formatUsd, parseUsd } from '../../src/kit/money.ts';
import { createTestDatabase } from '../cli/test-database.ts';
import { openAccount } from '../mcp/open-account.ts';
import { createSpender } from '../payments/support/spender.ts';
import { overRest } from '../payments/wire/sale.ts';
import { connectAssistant } from './account-calls.ts';
import { searchPrice, startPaidSearch, type PaidSearch } from './start-paid-search.ts';
import { startTestGateway, whenSearchReady, type TestGateway } from './start-test-gateway.ts';

const settings = {
  SEARCH_FROM_BALANCE: 'on',
  WALLET_ACCOUNTS: 'on',
  SEARCH_RATE_PER_MINUTE: '10000',
  REQUESTS_PER_MINUTE: '10000',
};
const database = await createTestDatabase();
const stores: { store: string; environment: Record<string, string> }[] = [
  { store: 'SQLite', environment: {} },
  ...(database === null ? [] : [{ store: 'PostgreSQL', environment: { DATABASE_URL: database.url } }]),
];
afterAll(() => database?.drop());

interface Call {
  key?: string;
  proof?: string;
  query?: string;
  gateway?: TestGateway;
  signal?: AbortSignal;
}

describe.each(stores)('a search with an idempotency key and a proof, on $store', ({ environment }) => {
  let paid: PaidSearch;
  /** Another gateway on the same store; on SQLite, where there can be none, the same. */
  let other: TestGateway;
  beforeAll(async () => {
    paid = await startPaidSearch({ environment: { ...settings, ...environment } });
    other = paid.gateway;
    if ('DATABASE_URL' in environment) {
      other = await startTestGateway({
        environment: { ...paid.chains.environment, ...settings, ...environment },
      });
      await whenSearchReady(other);
      await vi.waitUntil(() => other.services.x402.status().every(({ ready }) => ready), { timeout: 60_000 });
    }
  });
  afterAll(async () => {
    if (other !== paid.gateway) await other.stop();
    await paid.stop();
  });

  const send = async (
    { key, proof, query = 'query=coffee', gateway = paid.gateway, signal }: Call,
    caller: { authorization?: string } = {},
  ) => {
    const headers = {
      ...caller,
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(proof === undefined ? {} : { 'payment-signature': proof }),
    };
    const answer = await fetch(`${gateway.url}/v1/search?${query}`, {
      headers,
      ...(signal === undefined ? {} : { signal }),
    });
    return { status: answer.status, headers: answer.headers, body: Object(await answer.json()) };
  };

  const openBuyer = async () => {
    const { store } = paid.gateway.services;
    const { apiKey, accountId } = await openAccount(paid.gateway.services, {
      amount: parseUsd('1.00'),
      isSandbox: true,
    });
    return {
      search: (call: Call) => send(call, { authorization: `Bearer ${apiKey}` }),
      spent: async (): Promise<string> => {
        const account = await store.getAccount(accountId);
        return formatUsd(parseUsd('1.00') - (account?.balance ?? 0n) + (account?.held ?? 0n));
      },
    };
  };

  it('that was charged to the balance is answered again, and the proof is not settled', async () => {
    const { search, spent } = await openBuyer();
    const key = randomUUID();
    const first = await search({ key });
    expect(first.status).toBe(200);
    const taken = await paid.charged(async () => {
      const again = await search({ key, proof: await paid.prove() });
      expect(again).toMatchObject({ status: 200, body: first.body });
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(again.headers.get('payment-response')).toBeNull();
      const another = await search({ key, proof: await paid.prove(), query: 'query=tea' });
      expect(another).toMatchObject({ status: 409, body: { error: { code: 'idempotency_conflict' } } });
    });
    expect([taken, await spent()]).toEqual([0n, '0.10']);
  });

  it('that was paid by a proof is answered again for the key, and costs nothing more', async () => {
    const { search, spent } = await openBuyer();
    const key = randomUUID();
    const proof = await paid.prove();
    const taken = await paid.charged(async () => {
      const first = await search({ key, proof });
      expect(first.status).toBe(200);
      expect(first.headers.get('payment-response')).not.toBeNull();
      expect(await search({ key })).toMatchObject({ status: 200, body: first.body });
      expect(await search({ key, proof: await paid.prove() })).toMatchObject({
        status: 200,
        body: first.body,
      });
      // The proof has its answer, whatever the key.
      for (const same of [key, randomUUID(), undefined])
        expect(await search({ ...(same === undefined ? {} : { key: same }), proof })).toMatchObject({
          status: 200,
          body: first.body,
        });
      for (const changed of [
        { key, proof },
        { key: randomUUID(), proof },
      ])
        expect(await search({ ...changed, query: 'query=tea' })).toMatchObject({
          status: 409,
          body: { error: { code: 'payment_conflict' } },
        });
      expect(await search({ key, query: 'query=tea' })).toMatchObject({
        status: 409,
        body: { error: { code: 'idempotency_conflict' } },
      });
    });
    expect([taken, await spent()]).toEqual([searchPrice, '0.00']);
  });

  it('is paid once when it comes with and without proofs at the same moment', async () => {
    const { search, spent } = await openBuyer();
    const rounds = 6;
    const key = randomUUID();
    const proofs = await Promise.all(Array.from({ length: 2 * rounds }, () => paid.prove()));
    const answers: Awaited<ReturnType<typeof search>>[] = [];
    const taken = await paid.charged(async () => {
      for (let round = 0; round < rounds; round += 1) {
        const turn = { key: `${key} ${round}` };
        const calls = [
          { ...turn, gateway: other },
          { ...turn, proof: proofs[2 * round] ?? '' },
          { ...turn, proof: proofs[2 * round + 1] ?? '', gateway: other },
        ];
        if (round % 2 === 0) calls.reverse();
        answers.push(...(await Promise.all(calls.map(search))));
        // What was refused as being under way is answered when it is sent again.
        const repeated = await Promise.all(calls.map(search));
        expect(repeated.map(({ status }) => status)).toEqual([200, 200, 200]);
        for (const { body } of repeated) expect(body).toEqual(repeated[0]?.body);
      }
    });
    for (const { status } of answers) expect([200, 409]).toContain(status);
    expect(taken / searchPrice + parseUsd(await spent()) / parseUsd('0.10')).toBe(BigInt(rounds));
  });

  it('is free when nobody matches, and is searched again after a failure, each once for the key', async () => {
    const { search, spent } = await openBuyer();
    const key = randomUUID();
    const nobody = 'query=nobodyiscalledthis';
    const taken = await paid.charged(async () => {
      const unused = await paid.prove();
      for (const call of [
        { key, proof: unused },
        { key },
        { key, proof: await paid.prove() },
        { key: randomUUID(), proof: unused },
      ])
        expect(await search({ ...call, query: nobody })).toMatchObject({ status: 200, body: { count: 0 } });
    });
    expect([taken, await spent()]).toEqual([0n, '0.00']);
    const { leads } = paid.gateway.services;
    const failing = vi.spyOn(leads, 'search').mockRejectedValueOnce(new Error('no profiles'));
    const again = randomUUID();
    const proof = await paid.prove();
    expect((await search({ key: again, proof })).status).toBe(500);
    failing.mockRestore();
    expect((await search({ key: again })).status).toBe(200);
    expect(await spent()).toBe('0.10');
  });

  it('is not charged anew while its client has gone, and is answered for its key when its proof is settled', async () => {
    const { search, spent } = await openBuyer();
    const { leads, store, clock } = paid.gateway.services;
    const key = randomUUID();
    const proof = await paid.prove();
    const gone = new AbortController();
    const find = leads.search;
    vi.spyOn(leads, 'search').mockImplementationOnce(async (query, { signal, ...options }) => {
      const found = await find(query, { ...options, signal: new AbortController().signal });
      gone.abort();
      await vi.waitUntil(() => signal.aborted, { timeout: 30_000 });
      return found;
    });
    const taken = await paid.charged(async () => {
      await expect(search({ key, proof, signal: gone.signal })).rejects.toThrow('aborted');
      await vi.waitFor(
        async () => {
          for (const call of [{ key }, { key, proof: await paid.prove() }])
            expect(await search(call)).toMatchObject({
              status: 409,
              body: { error: { code: 'payment_in_progress' } },
            });
        },
        { timeout: 30_000, interval: 200 },
      );
      const { status, body } = await search({ key, proof });
      expect(status).toBe(200);
      for (const call of [{ key }, { key, proof: await paid.prove() }])
        expect(await search(call)).toMatchObject({ status: 200, body });
      expect((await search({ key, query: 'query=tea' })).body.error.code).toBe('idempotency_conflict');
    });
    expect([taken, await spent()]).toEqual([searchPrice, '0.00']);
    const [payment] = await store.listPayments({ limit: 1, states: ['settled', 'delivered'] });
    const refund = { payment: payment?.identity ?? '', amount: null, acceptsUnknown: false, note: null };
    await store.planRefund({ ...refund, id: randomUUID(), now: clock.now() });
    expect([(await search({ key })).status, await spent()]).toEqual([200, '0.10']);
  });

  it('and without an API key is charged once for the key of its wallet, which answers no other search', async () => {
    const key = randomUUID();
    const taken = await paid.charged(async () => {
      const proof = await paid.prove();
      const first = await send({ key, proof });
      expect(first.status).toBe(200);
      const again = await send({ key, proof: await paid.prove() });
      expect(again).toMatchObject({ status: 200, body: first.body });
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(again.headers.get('payment-response')).toBeNull();
      expect(await send({ key, proof })).toMatchObject({ status: 200, body: first.body });
      expect(await send({ key, proof: await paid.prove(), query: 'query=tea' })).toMatchObject({
        status: 409,
        body: { error: { code: 'idempotency_conflict' } },
      });
      const agent = await connectAssistant(paid.gateway, null);
      const overMcp = await agent.callTool({
        name: 'search_leads',
        arguments: { query: 'coffee', idempotency_key: key },
        _meta: { 'x402/payment': JSON.parse(Buffer.from(await paid.prove(), 'base64').toString()) },
      });
      await agent.close();
      expect(overMcp).toMatchObject({ structuredContent: first.body });
    });
    expect(taken).toBe(searchPrice);
  });

  it('and without an API key is charged once when it comes with several proofs at the same moment', async () => {
    for (let round = 0; round < 4; round += 1) {
      const key = randomUUID();
      const proofs = await Promise.all([paid.prove(), paid.prove(), paid.prove()]);
      const calls = proofs.map((proof, index) => ({
        key,
        proof,
        gateway: index === 1 ? other : paid.gateway,
      }));
      const taken = await paid.charged(async () => {
        for (const { status } of await Promise.all(calls.map((call) => send(call))))
          expect([200, 409]).toContain(status);
        for (const call of calls) expect((await send(call)).status).toBe(200);
      });
      expect(taken).toBe(searchPrice);
    }
  });

  it('and without an API key is searched and charged anew when its settlement has failed', async () => {
    const { base } = paid.chains;
    const { buyer, address, spendAll } = await createSpender(paid.chains, searchPrice);
    const { leads, store, x402 } = paid.gateway.services;
    const prove = async () =>
      (await buyer.prove(x402.challenge({ price: parseUsd('0.10'), ...overRest }), 'base', 2))
        .paymentSignature;
    const key = randomUUID();
    const find = leads.search;
    vi.spyOn(leads, 'search').mockImplementationOnce(async (...search) => {
      await spendAll();
      return find(...search);
    });
    const finish = store.finishJob;
    const finished = vi.spyOn(store, 'finishJob').mockImplementationOnce(async (input) => {
      await sleep(200);
      return finish(input);
    });
    const taken = await paid.charged(async () => {
      expect((await send({ key, proof: (await prove()) ?? '' })).status).toBe(402);
      // Its key is free by then.
      expect(finished).toHaveResolved();
      await base.mint(address, searchPrice);
      expect((await send({ key, proof: (await prove()) ?? '' })).status).toBe(200);
      expect((await send({ key, proof: (await prove()) ?? '' })).status).toBe(402);
    });
    expect(taken).toBe(searchPrice);
  });
});

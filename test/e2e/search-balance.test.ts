import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueKey } from '../../src/accounts/keys.ts';
import { formatUsd, nanoPerUsd, parseUsd } from '../../src/kit/money.ts';
import { noLimits, type KeyLimits } from '../../src/rules/key-limits.ts';
import { clientKinds, type ToolResult } from '../mcp/clients.ts';
import { callModern } from '../mcp/call-modern.ts';
import { openAccount } from '../mcp/open-account.ts';
import { startPaidSearch, searchPrice, type PaidSearch } from './start-paid-search.ts';

/** Profiles here are generated. */
let paid: PaidSearch;

beforeAll(async () => {
  paid = await startPaidSearch({
    environment: { SEARCH_FROM_BALANCE: 'on', WALLET_ACCOUNTS: 'on', REQUESTS_PER_MINUTE: '10000' },
  });
});
afterAll(() => paid.stop());

interface Buyer {
  apiKey: string;
  accountId: string;
}

const open = (usd: string, isSandbox = true): Promise<Buyer> =>
  openAccount(paid.gateway.services, { amount: parseUsd(usd), isSandbox });

const limited = async ({ accountId }: Buyer, limits: Partial<KeyLimits>): Promise<Buyer> => {
  const issued = await issueKey(paid.gateway.services, {
    accountId,
    label: 'limited',
    brand: 'causeway',
    limits: { ...noLimits, ...limits },
  });
  if (issued.outcome !== 'issued') throw new Error(issued.outcome);
  return { accountId, apiKey: issued.key };
};

const search = (query: string, { apiKey }: { apiKey: string | null }, headers = {}): Promise<Response> =>
  paid.gateway.call(`/v1/search?${query}`, { apiKey, headers });

const tool = async (input: Record<string, unknown>, { apiKey }: Buyer): Promise<ToolResult> => {
  const client = await clientKinds[0]!.connect(`${paid.gateway.url}/mcp`, apiKey);
  try {
    return await client.callTool('search_leads', input);
  } finally {
    await client.close();
  }
};

const balanceOf = async ({ accountId }: Buyer): Promise<string> => {
  const account = await paid.gateway.services.store.getAccount(accountId);
  return formatUsd((account?.balance ?? 0n) - (account?.held ?? 0n));
};

const read = async (path: string, { apiKey }: Buyer): Promise<unknown> =>
  (await paid.gateway.call(path, { apiKey })).json();

/** The payment that a 402 asks for, without what differs from call to call. */
const termsOf = (answer: Response): unknown => {
  const header = answer.headers.get('payment-required') ?? '';
  const { accepts, resource } = JSON.parse(Buffer.from(header, 'base64').toString());
  return { accepts, resource };
};

describe('a search with a key', () => {
  it('is charged to the balance, and is in the ledger, the usage, the jobs and a receipt', async () => {
    const buyer = await open('1.00');
    const answer = await search('limit=25', buyer);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ count: 25 });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'x-causeway-charge-usd': '0.11',
      'x-causeway-balance-usd': '0.89',
      'x-causeway-sandbox': 'true',
    });
    expect(await balanceOf(buyer)).toBe('0.89');
    expect(await read('/v1/transactions', buyer)).toMatchObject({
      data: [{ type: 'debit', amount_usd: '-0.11', model: 'search_leads' }, { type: 'topup' }],
    });
    const usage = { charged_usd: '0.11', jobs: { total: 1, done: 1 } };
    expect(await read('/v1/usage', buyer)).toMatchObject({
      by_model: [{ model: 'search_leads', ...usage }],
      by_kind: [{ kind: 'search', ...usage }],
    });
    const { data } = Object(await read('/v1/jobs', buyer));
    expect(data).toMatchObject([{ kind: 'search', status: 'done', charged_usd: '0.11' }]);
    expect(await read(`/v1/receipts/${data[0].id}`, buyer)).toMatchObject({
      type: 'job',
      status: 'charged',
      model: 'search_leads',
      units: { calls: 1 },
      charge_usd: '0.11',
      balance_after_usd: '0.89',
    });
    // Its profiles are the answer of the search alone.
    expect(JSON.stringify(await read(`/v1/jobs/${data[0].id}`, buyer))).not.toContain('username');
  });

  it('is charged over MCP too, whose text says the price', async () => {
    const buyer = await open('1.00');
    const found = await tool({ query: 'coffee', limit: 2 }, buyer);
    expect(found).toMatchObject({ isError: false, structuredContent: { count: 2 } });
    expect(found.content[0]?.text).toMatch(/^2 profiles for \$0\.10/);
    expect(await balanceOf(buyer)).toBe('0.90');
  });

  it('costs nothing when it finds nobody, and counts and facets are free', async () => {
    const buyer = await open('0.10');
    expect(await (await search('query=nobodyiscalledthis', buyer)).json()).toEqual({ results: [], count: 0 });
    const nobody = await tool({ query: 'nobodyiscalledthis' }, buyer);
    expect(nobody.content[0]?.text).toContain('nothing was charged');
    expect(await (await search('query=coffee&count_only=true', buyer)).json()).toMatchObject({ count: 0 });
    expect((await paid.gateway.call('/v1/search/facets', { apiKey: buyer.apiKey })).status).toBe(200);
    expect(await balanceOf(buyer)).toBe('0.10');
    expect(await read('/v1/transactions', buyer)).toMatchObject({ data: [{ type: 'topup' }] });
  });

  it('is answered again for its idempotency key and charged once, over REST and MCP', async () => {
    const buyer = await open('1.00');
    const key = randomUUID();
    const headers = { 'idempotency-key': key };
    const calls = Array.from({ length: 5 }, () => search('query=coffee', buyer, headers));
    const bodies = await Promise.all((await Promise.all(calls)).map((answer) => answer.json()));
    for (const body of bodies) expect(body).toEqual(bodies[0]);
    const again = await search('query=coffee', buyer, headers);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await tool({ query: 'coffee', idempotency_key: key }, buyer)).structuredContent).toEqual(
      bodies[0],
    );
    const other = await search('query=tea', buyer, headers);
    expect([other.status, await other.json()]).toMatchObject([
      409,
      { error: { code: 'idempotency_conflict' } },
    ]);
    expect(await balanceOf(buyer)).toBe('0.90');
  });

  it('is charged once when the write of its end is answered with an error', async () => {
    const { store } = paid.gateway.services;
    const buyer = await open('1.00');
    const { finishJob } = store;
    let failures = 0;
    store.finishJob = async (input) => {
      const finished = await finishJob(input);
      if ((failures += 1) === 1) throw new Error('the connection ended after the commit');
      return finished;
    };
    try {
      expect((await search('query=coffee', buyer)).status).toBe(200);
    } finally {
      store.finishJob = finishJob;
    }
    expect(failures).toBe(2);
    expect(await balanceOf(buyer)).toBe('0.90');
  });

  it('is answered with the terms of a call without a key when the balance is too low', async () => {
    const buyer = await open('0.09');
    const unpaid = await search('query=coffee', buyer);
    const keyless = await search('query=coffee', { apiKey: null });
    expect([unpaid.status, keyless.status]).toEqual([402, 402]);
    expect(termsOf(unpaid)).toEqual(termsOf(keyless));
    const overMcp = await tool({ query: 'coffee' }, buyer);
    expect(overMcp).toMatchObject({ isError: true, structuredContent: { x402Version: 2 } });
    expect(await balanceOf(buyer)).toBe('0.09');
  });

  it.each([
    ['search_leads', { query: 'coffee' }],
    ['create_image', { model: 'imagemodel-1.0', prompt: 'A pier' }],
  ])(
    'names a page to add money beside the terms, by which x402 clients still pay: %s',
    async (name, input) => {
      const { apiKey } = await open('0.01');
      const call = { path: '/mcp', apiKey, name, input };
      const asked = await callModern(paid.gateway, call);
      expect(asked.result).toMatchObject({
        resultType: 'input_required',
        inputRequests: { page: { method: 'elicitation/create', params: { mode: 'url' } } },
        _meta: { 'x402/error': { accepts: expect.any(Array) } },
      });
      const page = expect.stringContaining(`${paid.gateway.url}/oauth/calls/`);
      for (const again of [
        { ...call, more: { requestState: asked.result?.requestState } },
        { ...call, capabilities: {} },
      ]) {
        const { result } = await callModern(paid.gateway, again);
        expect(result).toMatchObject({
          isError: true,
          _meta: { 'x402/error': { accepts: expect.any(Array) } },
        });
        expect(JSON.stringify(result?.['content'])).toEqual(page);
      }
      const inDirectory = await callModern(paid.gateway, { ...call, path: '/mcp/account/directory' });
      expect(JSON.stringify(inDirectory)).not.toContain('/oauth/calls/');
    },
  );

  it('is never sold for real money while the profiles are generated', async () => {
    const buyer = await open('1.00', false);
    expect((await search('query=coffee', buyer)).status).toBe(402);
    expect(await balanceOf(buyer)).toBe('1.00');
  });

  it('is paid by a proof where it has one, and the balance stays', async () => {
    const buyer = await open('1.00');
    const proof = await paid.prove();
    const charged = await paid.charged(async () => {
      const answer = await search('query=coffee', buyer, { 'payment-signature': proof });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('payment-response')).not.toBeNull();
    });
    expect(charged).toBe(searchPrice);
    expect(await balanceOf(buyer)).toBe('1.00');
  });

  it('counts in the budget of its key, beyond which it is refused', async () => {
    const buyer = await limited(await open('1.00'), { budgetDay: nanoPerUsd / 10n });
    const answers = await Promise.all([1, 2, 3].map(() => search('query=coffee', buyer)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const refused = answers.find(({ status }) => status === 402);
    expect(await refused?.json()).toMatchObject({
      error: { code: 'insufficient_balance', param: 'budget_day_usd' },
    });
    expect(await balanceOf(buyer)).toBe('0.90');
  });

  it('is not sold to a key that buys certain models alone', async () => {
    const buyer = await limited(await open('1.00'), { models: ['imagemodel-1.0'] });
    expect((await search('query=coffee', buyer)).status).toBe(402);
    expect(await balanceOf(buyer)).toBe('1.00');
  });

  it('is not bought by HEAD, which is answered with the terms', async () => {
    const buyer = await open('1.00');
    const head = await paid.gateway.call('/v1/search?query=coffee', { apiKey: buyer.apiKey, method: 'HEAD' });
    expect(head.status).toBe(402);
    expect(head.headers.get('payment-required')).not.toBeNull();
    expect(await balanceOf(buyer)).toBe('1.00');
  });

  it('is refused with a wrong key, and asks for a payment without one', async () => {
    expect((await search('query=coffee', { apiKey: 'sk_causeway_wrong' })).status).toBe(401);
    expect((await search('query=coffee', { apiKey: null })).status).toBe(402);
  });

  it('is among the calls of which agents read that a balance pays them', async () => {
    const text = await (await paid.gateway.call('/llms.txt', { apiKey: null })).text();
    expect(text).toContain('Searches, chats, responses, images and videos take their price from the balance');
  });
});

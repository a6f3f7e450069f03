import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseUsd } from '../../src/kit/money.ts';
import { createTestDatabase } from '../cli/test-database.ts';
import {
  connectAssistant,
  image,
  makeImage,
  openCustomer,
  page,
  read,
  refusal,
  tool,
  type Body,
} from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

describe('the job history', () => {
  it('spans all keys of the account, newest first, with what each job cost, alike over REST and MCP', async () => {
    const { apiKey, secondKey } = await openCustomer(gateway);
    const made = await makeImage(gateway, apiKey);
    const chat = await gateway.call('/v1/chat/completions', {
      apiKey: secondKey,
      body: { messages: [{ role: 'user', content: 'private words' }], max_tokens: 20 },
    });
    const { id: chatId } = (await chat.json()) as { id: string };
    const failing = await gateway.call('/v1/images/generations', {
      apiKey,
      body: { ...image, prompt: '[sandbox:fail]', custom_data: { secret: 'words' } },
    });
    const failed = (await failing.json()) as Body;

    const history = await page(gateway, '/v1/jobs', secondKey);
    expect(history).toMatchObject({ has_more: false, next_cursor: null });
    expect(history.data.map(({ id }) => id)).toEqual([
      failed['id'],
      chatId.replace('chatcmpl-', ''),
      made['id'],
    ]);
    expect(history.data.map((job) => [job['kind'], job['status'], job['billing_status']])).toEqual([
      ['image', 'failed', 'not_charged'],
      ['chat', 'done', 'charged'],
      ['image', 'done', 'charged'],
    ]);
    const { created_at: createdAt, finished_at: finishedAt } = made as Record<string, string>;
    expect(history.data[2]).toEqual({
      id: made['id'],
      model: 'imagemodel-1.0',
      kind: 'image',
      status: 'done',
      created_at: createdAt,
      finished_at: finishedAt,
      duration_ms: Date.parse(finishedAt!) - Date.parse(createdAt!),
      billing_status: 'charged',
      charged_usd: '0.04',
      refunded_usd: '0.00',
      net_spent_usd: '0.04',
      currency: 'USD',
      error: null,
    });
    expect(history.data[0]).toMatchObject({
      charged_usd: '0.00',
      error: { type: 'server_error', code: 'upstream_error', message: expect.any(String) },
    });
    expect(JSON.stringify(history)).not.toMatch(/lighthouse|words|results|sandbox/);

    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    expect(await tool(assistant, 'list_jobs')).toEqual(history);
    expect(await tool(assistant, 'list_jobs', { limit: 1 })).toMatchObject({ data: [history.data[0]] });
  });

  it('shows a job under way as pending, without an end', async () => {
    const { apiKey } = await openCustomer(gateway);
    await gateway.call('/v1/images/generations?async=true', {
      apiKey,
      body: { ...image, prompt: '[sandbox:slow=4]' },
    });
    const { data } = await page(gateway, '/v1/jobs', apiKey);
    expect(data[0]).toMatchObject({
      finished_at: null,
      duration_ms: null,
      billing_status: 'pending',
      charged_usd: '0.00',
    });
    expect(['queued', 'running']).toContain(data[0]?.['status']);
  });

  it('gives every older job once, page by page, while new ones arrive', async () => {
    const { apiKey } = await openCustomer(gateway);
    const ids: unknown[] = [];
    for (let index = 0; index < 7; index += 1) ids.unshift((await makeImage(gateway, apiKey))['id']);
    const seen: unknown[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const from: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const {
        data,
        has_more: hasMore,
        next_cursor: next,
      } = await page(gateway, `/v1/jobs?limit=2${from}`, apiKey);
      seen.push(...data.map(({ id }) => id));
      expect(hasMore).toBe(next !== null);
      cursor = next;
      await makeImage(gateway, apiKey);
    }
    expect(seen).toEqual(ids);
    const newest = await page(gateway, '/v1/jobs?limit=11', apiKey);
    expect(newest.data).toHaveLength(11);
    expect(newest).toMatchObject({ has_more: false, next_cursor: null });
  });

  it('gives another account nothing', async () => {
    const { apiKey } = await openCustomer(gateway);
    await makeImage(gateway, apiKey);
    const other = await openCustomer(gateway);
    expect(await page(gateway, '/v1/jobs', other.apiKey)).toEqual({
      data: [],
      has_more: false,
      next_cursor: null,
    });
    expect((await page(gateway, '/v1/transactions', other.apiKey)).data).toMatchObject([{ type: 'topup' }]);
    expect(await read(gateway, '/v1/usage', other.apiKey)).toMatchObject({
      jobs: { total: 0 },
      charged_usd: '0.00',
      by_model: [],
    });
  });
});

describe('a cursor', () => {
  it('is refused when it was changed, is of another account or of the other list, alike over MCP', async () => {
    const { apiKey } = await openCustomer(gateway);
    const other = await openCustomer(gateway);
    for (const key of [apiKey, apiKey, other.apiKey, other.apiKey]) await makeImage(gateway, key);
    const cursorOf = async (path: string, key: string): Promise<string> =>
      (await page(gateway, `${path}?limit=1`, key)).next_cursor ?? '';
    const own = await cursorOf('/v1/jobs', apiKey);
    const wrong = [
      `${own.slice(0, -3)}AAA`,
      await cursorOf('/v1/jobs', other.apiKey),
      await cursorOf('/v1/transactions', apiKey),
      'x',
      'x'.repeat(512),
    ];
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    for (const cursor of wrong) {
      const response = await gateway.call(`/v1/jobs?cursor=${cursor}`, { apiKey });
      const overRest = (await response.clone().json()) as Body;
      expect(await refusal(response)).toEqual({ status: 400, code: 'invalid_cursor', param: 'cursor' });
      expect(await tool(assistant, 'list_jobs', { cursor })).toEqual(overRest);
    }
    expect((await page(gateway, `/v1/jobs?cursor=${own}`, apiKey)).data).toHaveLength(1);
  });

  it.each(['limit=0', 'limit=101', 'limit=1.5', 'limit=many', 'limit=', 'limit=1&limit=2'])(
    'and a page of "%s" is refused with 422 on the limit',
    async (query) => {
      for (const path of ['/v1/jobs', '/v1/transactions'])
        expect(await refusal(await gateway.call(`${path}?${query}`))).toEqual({
          status: 422,
          code: 'invalid_parameter',
          param: 'limit',
        });
    },
  );

  it('of no or more than 512 characters is refused with 422', async () => {
    for (const cursor of ['', 'x'.repeat(513)])
      expect(await refusal(await gateway.call(`/v1/transactions?cursor=${cursor}`))).toEqual({
        status: 422,
        code: 'invalid_parameter',
        param: 'cursor',
      });
  });

  it('holds after a restart', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'causeway-restart-'));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const environment = { DATA_DIR: dataDir };
    const before = await startTestGateway({ environment });
    for (let index = 0; index < 3; index += 1) await makeImage(before);
    const first = await page(before, '/v1/jobs?limit=2');
    await before.stop();
    const after = await startTestGateway({ environment });
    onTestFinished(() => after.stop());
    const rest = await page(after, `/v1/jobs?cursor=${first.next_cursor}`, before.apiKey);
    expect(rest.data).toHaveLength(1);
    expect(rest.has_more).toBe(false);
  });
});

const database = await createTestDatabase();

describe.skipIf(database === null)('two gateways on one PostgreSQL', () => {
  it('take each other’s cursors, answer the same totals and make one webhook secret', async () => {
    const environment = { DATABASE_URL: database?.url ?? '' };
    const first = await startTestGateway({ environment });
    const second = await startTestGateway({ environment });
    onTestFinished(async () => {
      await first.stop();
      await second.stop();
      await database?.drop();
    });
    const { apiKey } = first;
    for (let index = 0; index < 5; index += 1) await makeImage(index % 2 === 0 ? first : second, apiKey);
    const whole = await page(first, '/v1/jobs', apiKey);
    const one = await page(first, '/v1/jobs?limit=2', apiKey);
    const two = await page(second, `/v1/jobs?limit=2&cursor=${one.next_cursor}`, apiKey);
    const three = await page(first, `/v1/jobs?limit=2&cursor=${two.next_cursor}`, apiKey);
    expect([...one.data, ...two.data, ...three.data]).toEqual(whole.data);
    const span = '?from=2026-01-01&to=2100-01-01';
    expect(await read(first, `/v1/usage${span}`, apiKey)).toMatchObject({
      jobs: { total: 5, done: 5 },
      charged_usd: '0.20',
    });
    expect(await read(second, `/v1/usage${span}`, apiKey)).toEqual(
      await read(first, `/v1/usage${span}`, apiKey),
    );
    const balances = await Promise.all(
      [first, second, first, second].map((each) => read(each, '/v1/balance', apiKey)),
    );
    expect(new Set(balances.map((balance) => balance['webhook_secret'])).size).toBe(1);
    const transactions = await page(second, '/v1/transactions', apiKey);
    expect(transactions.data.map(({ type }) => type)).toEqual([...Array(5).fill('debit'), 'topup']);
  });
});

describe('usage', () => {
  const usageOf = async (query: string, apiKey: string): Promise<Body> =>
    read(gateway, `/v1/usage${query}`, apiKey);

  it('is by default that of the last 30 days, and equals the sums of the history, alike over MCP', async () => {
    const { apiKey, secondKey } = await openCustomer(gateway);
    await makeImage(gateway, apiKey);
    await makeImage(gateway, secondKey);
    const chat = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 30 };
    await gateway.call('/v1/chat/completions', { apiKey, body: chat });
    await gateway.call('/v1/chat/completions', {
      apiKey,
      body: { ...chat, messages: [{ role: 'user', content: '[sandbox:fail]' }] },
    });
    const usage = await usageOf('', apiKey);
    const span = Date.parse(String(usage['to'])) - Date.parse(String(usage['from']));
    expect(span).toBe(30 * 86_400_000);
    const { data } = await page(gateway, '/v1/jobs', apiKey);
    const sumOf = (rows: Body[], name: string): bigint =>
      rows.reduce((sum, row) => sum + parseUsd(String(row[name])), 0n);
    for (const name of ['charged_usd', 'refunded_usd', 'net_spent_usd'])
      expect(parseUsd(String(usage[name]))).toBe(sumOf(data, name));
    expect(usage).toMatchObject({
      currency: 'USD',
      jobs: { total: 4, queued: 0, running: 0, done: 3, failed: 1 },
      by_kind: [
        { kind: 'chat', jobs: { total: 2, done: 1, failed: 1 } },
        { kind: 'image', jobs: { total: 2 }, charged_usd: '0.08', net_spent_usd: '0.08' },
      ],
      by_model: [{ model: 'imagemodel-1.0' }, { model: 'textmodel-3.5-flash' }],
    });
    const day = (usage['by_day'] as Body[]).map((row) => row['day']);
    expect(day).toEqual([...new Set(data.map((job) => String(job['created_at']).slice(0, 10)))].sort());

    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    const range = { from: '2026-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };
    const query = `?from=${range.from}&to=${range.to}`;
    expect(await tool(assistant, 'get_usage', range)).toEqual(await usageOf(query, apiKey));
    expect(await tool(assistant, 'get_usage')).toMatchObject({ jobs: { total: 4 } });
  });

  it('is shown by key, and by the tag of the call or else of its key', async () => {
    const { apiKey } = await openCustomer(gateway);
    const made = await gateway.call('/v1/keys', { apiKey, body: { label: 'shop', usage_tag: 'orders' } });
    const shop = (await made.json()) as { key: string; id: string };
    const ask = (key: string, headers: Record<string, string> = {}) =>
      gateway.call('/v1/images/generations', { apiKey: key, body: image, headers });
    await ask(apiKey);
    await ask(shop.key);
    await ask(shop.key, { 'x-usage-tag': 'newsletter' });
    expect(await (await ask(shop.key, { 'x-usage-tag': 'tür' })).json()).toMatchObject({
      error: { code: 'invalid_parameter', param: 'X-Usage-Tag' },
    });
    const usage = await usageOf('', apiKey);
    expect(usage['by_key']).toMatchObject([
      { key_id: shop.id, label: 'shop', jobs: { total: 2 }, charged_usd: '0.08' },
      { jobs: { total: 1 }, charged_usd: '0.04' },
    ]);
    expect(usage['by_tag']).toMatchObject([
      { tag: null, jobs: { total: 1 } },
      { tag: 'newsletter', jobs: { total: 1 } },
      { tag: 'orders', jobs: { total: 1 }, charged_usd: '0.04' },
    ]);
  });

  it('counts a job at the beginning of the range and not one at its end', async () => {
    const { apiKey } = await openCustomer(gateway);
    const { created_at: at } = (await makeImage(gateway, apiKey)) as { created_at: string };
    const later = new Date(Date.parse(at) + 1).toISOString();
    const earlier = new Date(Date.parse(at) - 1).toISOString();
    const totalOf = async (from: string, to: string): Promise<unknown> =>
      (await usageOf(`?from=${from}&to=${to}`, apiKey))['jobs'];
    expect(await totalOf(at, later)).toMatchObject({ total: 1 });
    expect(await totalOf(earlier, at)).toMatchObject({ total: 0 });
    expect(await totalOf(later, '2100-01-01')).toMatchObject({ total: 0 });
  });

  it('reads zones, dates alone, and a plus sign that was not encoded', async () => {
    const { apiKey } = await openCustomer(gateway);
    expect(
      await usageOf('?from=2026-03-01T02:00:00%2B02:00&to=2026-03-02T02:00:00+02:00', apiKey),
    ).toMatchObject({ from: '2026-03-01T00:00:00.000Z', to: '2026-03-02T00:00:00.000Z' });
    expect(await usageOf('?from=2026-03-01&to=2026-04-01', apiKey)).toMatchObject({
      from: '2026-03-01T00:00:00.000Z',
      to: '2026-04-01T00:00:00.000Z',
    });
  });

  it.each([
    'from=2026-03-02&to=2026-03-01',
    'from=2026-03-01&to=2026-03-01',
    'from=2100-01-01',
    'to=2020-01-01',
  ])('of the range %s is refused with 400 on from', async (query) => {
    expect(await refusal(await gateway.call(`/v1/usage?${query}`))).toEqual({
      status: 400,
      code: 'invalid_range',
      param: 'from',
    });
  });

  it.each([
    ['from', 'yesterday'],
    ['to', '2026-02-30'],
    ['from', '2026-03-01T00:00:00'],
    ['to', ''],
  ])('with %s "%s" is refused with 422', async (name, value) => {
    expect(await refusal(await gateway.call(`/v1/usage?${name}=${value}`))).toEqual({
      status: 422,
      code: 'invalid_parameter',
      param: name,
    });
  });
});

describe('the balance', () => {
  it('has the webhook secret, made at the first read and then the same for every key, and not over MCP', async () => {
    const { apiKey, secondKey } = await openCustomer(gateway);
    const first = await Promise.all([1, 2, 3].map(() => read(gateway, '/v1/balance', apiKey)));
    const secret = first[0]?.['webhook_secret'];
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(first).toEqual(
      [1, 2, 3].map(() => ({ balance_usd: '10.00', currency: 'USD', webhook_secret: secret })),
    );
    expect(await read(gateway, '/v1/balance', secondKey)).toEqual(first[0]);
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    const { caller: _caller, ...balance } = await tool(assistant, 'get_balance');
    expect(balance).toEqual({ balance_usd: '10.00', currency: 'USD' });
    const other = await openCustomer(gateway);
    expect((await read(gateway, '/v1/balance', other.apiKey))['webhook_secret']).not.toBe(secret);
  });
});

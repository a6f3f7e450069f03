import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { openAccount } from '../mcp/open-account.ts';
import {
  connectAssistant,
  image,
  makeImage,
  openCustomer,
  page,
  read,
  tool,
  type Body,
} from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const setTerms = ({ services }: TestGateway, id: string, terms: object | string | null): Promise<unknown> =>
  services.store.setAccountTerms({
    id,
    terms: terms === null || typeof terms === 'string' ? terms : JSON.stringify(terms),
  });

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

describe('the models of an account', () => {
  it('are its enabled SKUs at its own prices, in all and one by one', async () => {
    const { accountId, apiKey } = await openCustomer(gateway);
    await setTerms(gateway, accountId, {
      models: ['imagemodel-1.0', 'videomodel-2.0', 'textmodel-3.1-pro'],
      prices: {
        'textmodel-3.1-pro': { unit: 'token', input_usd_per_1m: '0.0001', output_usd_per_1m: '7' },
        'imagemodel-1.0': { unit: 'call', price_usd: '0.01' },
        'videomodel-2.0': {
          unit: 'second',
          rates: [
            { resolution: '480p', price_usd: '0.005' },
            { resolution: '720p', price_usd: '0.01', with_video_price_usd: '0.006' },
          ],
        },
      },
    });
    const { data } = (await read(gateway, '/v1/models', apiKey)) as { data: Body[] };
    const common = { object: 'model', created: expect.any(Number), owned_by: 'causeway' };
    expect(data).toEqual([
      {
        ...common,
        id: 'textmodel-3.1-pro',
        kind: 'chat',
        pricing: {
          unit: 'token',
          currency: 'USD',
          input_usd_per_1m: '0.0001',
          output_usd_per_1m: '7.00',
        },
      },
      {
        ...common,
        id: 'imagemodel-1.0',
        kind: 'image',
        pricing: { unit: 'call', currency: 'USD', price_usd: '0.01' },
      },
      {
        ...common,
        id: 'videomodel-2.0',
        kind: 'video',
        pricing: {
          unit: 'second',
          currency: 'USD',
          rates: [
            { resolution: '480p', price_usd: '0.005', with_video_price_usd: null },
            { resolution: '720p', price_usd: '0.01', with_video_price_usd: '0.006' },
          ],
        },
      },
    ]);
    expect(await read(gateway, '/v1/models/imagemodel-1.0', apiKey)).toEqual(data[1]);
    expect(await makeImage(gateway, apiKey)).toMatchObject({ usage: { cost_usd: '0.01' } });

    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    expect(await tool(assistant, 'list_models')).toEqual({ object: 'list', data });
    const uri = 'causeway://models/videomodel-2.0';
    const [model] = (await assistant.readResource({ uri })).contents;
    expect(model).toEqual({ uri, mimeType: 'application/json', text: JSON.stringify(data[2]) });
    await expect(assistant.readResource({ uri: 'causeway://models/textmodel-3.5-flash' })).rejects.toThrow(
      'Resource not found',
    );
  });

  it('that are gone do not take back what was made: its key answers the same job', async () => {
    const { accountId, apiKey } = await openCustomer(gateway);
    const headers = { 'idempotency-key': 'before' };
    const paths = [
      ['/v1/images/generations', image],
      ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello' }] }],
    ] as const;
    for (const [path, body] of paths) {
      await setTerms(gateway, accountId, null);
      const first = await gateway.call(path, { body, headers, apiKey });
      const made = (await first.json()) as Body;
      await setTerms(gateway, accountId, { models: [] });
      const again = await gateway.call(path, { body, headers, apiKey });
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
      expect(((await again.json()) as Body)['id']).toBe(made['id']);
      const other = await gateway.call(path, { body, headers: { 'idempotency-key': 'after' }, apiKey });
      expect(other.status).toBeGreaterThanOrEqual(400);
    }
  });

  it('that are not enabled are like those that there never were', async () => {
    const { accountId, apiKey } = await openCustomer(gateway);
    await setTerms(gateway, accountId, { models: ['videomodel-2.0'] });
    const answersTo = async (sku: string): Promise<unknown[]> => {
      const answers = await Promise.all([
        gateway.call(`/v1/models/${sku}`, { apiKey }),
        gateway.call('/v1/images/generations', { apiKey, body: { model: sku, prompt: 'x' } }),
        gateway.call('/v1/chat/completions', {
          apiKey,
          body: { model: sku, messages: [{ role: 'user', content: 'x' }] },
        }),
      ]);
      return Promise.all(answers.map(async (answer) => [answer.status, await answer.json()]));
    };
    const unknown = await answersTo('nope');
    expect(unknown).toMatchObject([
      [404, { error: { code: 'not_found', param: 'model' } }],
      [400, { error: { code: 'model_not_found' } }],
      [400, { error: { code: 'model_not_found' } }],
    ]);
    expect(await answersTo('imagemodel-1.0')).toEqual(unknown);
    expect(await answersTo('textmodel-3.5-flash')).toEqual(unknown);
    expect(await page(gateway, '/v1/jobs', apiKey)).toMatchObject({ data: [] });
  });

  it('are listed and retrieved by the client of OpenAI, with a slash in the name too', async () => {
    const slashed = await startTestGateway({
      yaml: `
models:
  vendor/draw-1: { kind: image, price: { unit: call, price_usd: "0.02" }, routes: [{ provider: sandbox }] }
`,
    });
    onTestFinished(() => slashed.stop());
    const client = new OpenAI({ baseURL: `${slashed.url}/v1`, apiKey: slashed.apiKey, maxRetries: 0 });
    const listed = [];
    for await (const model of client.models.list()) listed.push(model.id);
    expect(listed).toEqual(['vendor/draw-1']);
    expect(await client.models.retrieve('vendor/draw-1')).toMatchObject({
      id: 'vendor/draw-1',
      object: 'model',
      pricing: { price_usd: '0.02' },
    });
    await expect(client.models.retrieve('vendor/other')).rejects.toMatchObject({
      status: 404,
      code: 'not_found',
    });
  });
});

describe('the terms of an account', () => {
  it('hold from the next call on; what was admitted keeps its price', async () => {
    const { accountId, apiKey } = await openCustomer(gateway);
    const begin = async (): Promise<string> => {
      const answer = await gateway.call('/v1/images/generations?async=true', {
        apiKey,
        body: { ...image, prompt: '[sandbox:slow=1]' },
      });
      return ((await answer.json()) as { id: string }).id;
    };
    const admitted = await begin();
    await setTerms(gateway, accountId, { prices: { 'imagemodel-1.0': { unit: 'call', price_usd: '1' } } });
    const later = await begin();
    await setTerms(gateway, accountId, null);
    expect(await makeImage(gateway, apiKey)).toMatchObject({ usage: { cost_usd: '0.04' } });
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    for (const [id, cost] of [
      [admitted, '0.04'],
      [later, '1.00'],
    ])
      expect(await tool(assistant, 'get_job', { job_id: id, wait_ms: 20_000 })).toMatchObject({
        status: 'done',
        usage: { cost_usd: cost },
      });
  });

  it('that cannot be read sell nothing, say nothing, and are told to the operator', async () => {
    const { log, lines } = createRecordedLog();
    const own = await startTestGateway({ log });
    onTestFinished(() => own.stop());
    const { accountId, apiKey } = await openCustomer(own);
    await setTerms(own, accountId, '{"models":["imagemodel-1.0"],"monthly_fee":"1"}');
    const response = await own.call('/v1/images/generations', { apiKey, body: image });
    expect(response.status).toBe(500);
    expect(await response.text()).not.toMatch(/terms|monthly/);
    expect((await own.call('/v1/models', { apiKey })).status).toBe(500);
    expect(JSON.stringify(lines)).toContain(accountId);
    expect(await own.services.store.listJobs({ accountId, limit: 1, before: null })).toEqual([]);
    expect((await own.call('/v1/models')).status).toBe(200);
  });
});

describe('the rate limit of an account', () => {
  it('counts its keys, REST and MCP together, and a waiting poll once; others are not touched', async () => {
    const { accountId, apiKey, secondKey } = await openCustomer(gateway);
    const { id } = (await makeImage(gateway, apiKey)) as { id: string };
    await setTerms(gateway, accountId, { requests_per_minute: 6 });
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    // Lists of tools and searches are no calls of the account; a refused request is.
    await assistant.listTools();
    await gateway.call('/v1/search?limit=1', { apiKey });
    await gateway.call('/v1/jobs?limit=0', { apiKey });
    await gateway.call('/v1/balance', { apiKey: secondKey });
    expect(await tool(assistant, 'get_job', { job_id: id, wait_ms: 1_000 })).toMatchObject({
      status: 'done',
    });
    expect((await gateway.call(`/v1/jobs/${id}`, { apiKey })).status).toBe(200);
    expect(await tool(assistant, 'get_balance')).toHaveProperty('balance_usd');

    const refused = await gateway.call('/v1/images/generations', { apiKey: secondKey, body: image });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({
      error: { type: 'rate_limit_exceeded', code: 'rate_limit_exceeded' },
    });
    expect(await tool(assistant, 'list_models')).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    expect((await gateway.call('/v1/balance')).status).toBe(200);
    const { data } = await page(gateway, '/v1/transactions');
    expect(data.filter(({ type }) => type === 'debit')).toEqual([]);
  });

  it('is the setting of the gateway without terms', async () => {
    const own = await startTestGateway({ environment: { REQUESTS_PER_MINUTE: '2' } });
    onTestFinished(() => own.stop());
    const statuses = [];
    for (let index = 0; index < 3; index += 1) statuses.push((await own.call('/v1/models')).status);
    expect(statuses).toEqual([200, 200, 429]);
    const other = await openAccount(own.services);
    expect((await own.call('/v1/models', { apiKey: other.apiKey })).status).toBe(200);
  });
});

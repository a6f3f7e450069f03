import { DatabaseSync } from 'node:sqlite';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { openLeadIndex } from '../../src/leads/open-lead-index.ts';
import { embeddedStoreFile } from '../../src/store/open-store.ts';
import { buildLead } from '../leads/build-lead.ts';
import { startStubService, type StubService } from '../leads/upstream/stub-service.ts';
import { searchPrice, startPaidSearch, type PaidSearch } from './start-paid-search.ts';

let service: StubService;
let paid: PaidSearch;

beforeAll(async () => {
  service = await startStubService({ kind: 'json', value: [] });
  paid = await startPaidSearch({
    environment: { LEADS_SOURCES: 'embedded,http', SEARCH_KEY: 'topsecret' },
    yaml: stringify({
      leads: {
        http: {
          url: `${service.origin}/find`,
          parameters: { q: '{query}', limit: '{limit}' },
          headers: { authorization: 'Bearer ${SEARCH_KEY}' },
        },
      },
    }),
  });
});

afterAll(async () => {
  await paid.stop();
  await service.close();
});

const search = (query: string, proof?: string): Promise<Response> =>
  paid.gateway.call(`/v1/search?query=${query}`, {
    apiKey: null,
    ...(proof === undefined ? {} : { headers: { 'payment-signature': proof } }),
  });

describe('a paid search over another service', () => {
  it('is not charged while the service fails, and the same proof pays for it when the service is back', async () => {
    const proof = await paid.prove();
    const charged = await paid.charged(async () => {
      service.answer({ kind: 'json', status: 500, value: { message: 'disk on fire' } });
      const failed = await search('yoga', proof);
      expect(failed.status).toBe(502);
      expect(Number(failed.headers.get('retry-after'))).toBeGreaterThan(0);
      const body = await failed.text();
      expect(JSON.parse(body)).toMatchObject({ error: { code: 'upstream_error', type: 'server_error' } });
      expect(body).not.toMatch(/fire|topsecret|127\.0\.0\.1/);
    });
    expect(charged).toBe(0n);

    const chargedThen = await paid.charged(async () => {
      service.answer({ kind: 'json', value: [buildLead({ username: 'yogi' })] });
      const answered = await search('yoga', proof);
      expect(answered.status).toBe(200);
      expect(await answered.json()).toEqual({ results: [buildLead({ username: 'yogi' })], count: 1 });
      expect(answered.headers.get('x-causeway-sandbox')).toBeNull();
    });
    expect(chargedThen).toBe(searchPrice);
    expect(service.requests.at(-1)?.headers.authorization).toBe('Bearer topsecret');
  });

  it('is not charged for an answer that is broken', async () => {
    const charged = await paid.charged(async () => {
      service.answer({ kind: 'bytes', bytes: '[{"username":' });
      expect((await search('broken', await paid.prove())).status).toBe(502);
    });
    expect(charged).toBe(0n);
  });

  it.each<[string, unknown[]]>([
    ['have no country', [buildLead({ username: 'a' }), buildLead({ username: 'b' })]],
    [
      'are no profiles but for one of another country',
      [...Array(19).fill(buildLead({ country: 'United States' })), buildLead({ country: 'FR' })],
    ],
  ])('in one country is not charged for rows that %s', async (_, value) => {
    const charged = await paid.charged(async () => {
      service.answer({ kind: 'json', value });
      expect((await search('yoga&country=US', await paid.prove())).status).toBe(502);
    });
    expect(charged).toBe(0n);
  });

  it('once more by its proof leaves out who asked to be forgotten since', async () => {
    service.answer({ kind: 'json', value: ['anna', 'Bert'].map((username) => buildLead({ username })) });
    const proof = await paid.prove();
    expect(await (await search('both', proof)).json()).toMatchObject({ count: 2 });
    const { config } = paid.gateway.services;
    const keeper = await openLeadIndex(config);
    await keeper.forget(['bert'], { signal: new AbortController().signal });
    const again = await search('both', proof);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.json()).toEqual({ results: [buildLead({ username: 'anna' })], count: 1 });
    const database = new DatabaseSync(embeddedStoreFile(config.dataDir));
    database.exec('ALTER TABLE forgotten_lists RENAME TO lists_away');
    const held = await search('both', proof);
    expect([held.status, held.headers.get('retry-after')]).toEqual([503, '5']);
    expect(held.headers.get('payment-response')).not.toBeNull();
    expect(await held.json()).toMatchObject({
      error: { code: 'payment_pending', message: expect.stringMatching(/paid for.*do not pay again/) },
    });
    database.exec('ALTER TABLE lists_away RENAME TO forgotten_lists');
    database.close();
    await keeper.remember(['bert']);
    await keeper.close();
    expect(await (await search('both', proof)).json()).toMatchObject({ count: 2 });
  });

  it('is offered as a search over real profiles', async () => {
    const unpaid = await search('yoga');
    expect(unpaid.status).toBe(402);
    expect(unpaid.headers.get('x-causeway-sandbox')).toBeNull();
    const terms = Buffer.from(unpaid.headers.get('payment-required') ?? '', 'base64').toString('utf8');
    expect(JSON.parse(terms)).toMatchObject({ resource: { description: 'Influencer search' } });
    const notices = paid.gateway.services.notices().join(' ');
    expect(notices).not.toContain('fictional');
    expect(notices).toContain('A search that finds nobody is free, although its source may cost you money');
  });

  it.each([400, 401, 402, 403, 404, 429])(
    'is a temporary failure, and not charged, when the service refuses with %i',
    async (status) => {
      service.answer({ kind: 'json', status, value: { message: 'no' } });
      const agent = new Client({ name: 'test-agent', version: '1' });
      await agent.connect(new StreamableHTTPClientTransport(new URL(`${paid.gateway.url}/mcp`)));
      const away = {
        code: 'upstream_error',
        message: 'The data source is temporarily unavailable. Try again.',
      };
      const charged = await paid.charged(async () => {
        const proof = await paid.prove();
        const refused = await search(`refused${status}`, proof);
        expect(refused.status).toBe(502);
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
        expect(await refused.json()).toMatchObject({ error: away });
        const overMcp = await agent.callTool({
          name: 'search_leads',
          arguments: { query: `refused${status}` },
          _meta: { 'x402/payment': proof },
        });
        expect(overMcp).toMatchObject({ isError: true, structuredContent: { error: away } });
      });
      expect(charged).toBe(0n);
      await agent.close();
    },
  );
});

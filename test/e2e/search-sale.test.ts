import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { openLeadIndex } from '../../src/leads/open-lead-index.ts';
import type { Lead } from '../../src/leads/lead-source.ts';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { buildLead } from '../leads/build-lead.ts';
import { leadInputOf } from '../leads/lead-input-of.ts';
import { startStubFacilitator, stubNetwork, type StubFacilitator } from '../mcp/stub-facilitator.ts';
import { toProof } from '../mcp/to-proof.ts';
import { startTestGateway, whenSearchReady, type TestGateway } from './start-test-gateway.ts';

const mainNetwork = 'eip155:8453';
const payTo = '0x00000000000000000000000000000000000000aa';
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface Sale {
  gateway: TestGateway;
  facilitator: StubFacilitator;
  agent: Client;
}

/** A gateway that is paid on `network`, and an agent without a key. */
const start = async (network: string, environment: Record<string, string> = {}): Promise<Sale> => {
  const facilitator = await startStubFacilitator(network);
  closing.push(facilitator.close);
  const gateway = await startTestGateway({
    environment: {
      PUBLIC_URL: 'https://search.example.com',
      X402_NETWORKS: network,
      X402_EVM_PAY_TO: payTo,
      ...facilitator.environment,
      ...environment,
    },
  });
  closing.push(gateway.stop);
  const agent = new Client({ name: 'test-agent', version: '1' });
  await agent.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`)));
  closing.push(() => agent.close());
  return { gateway, facilitator, agent };
};

const search = ({ gateway }: Sale, headers: Record<string, string> = {}): Promise<Response> =>
  gateway.call('/v1/search?limit=5', { apiKey: null, headers });

const toolNames = async ({ agent }: Pick<Sale, 'agent'>): Promise<string[]> =>
  (await agent.listTools()).tools.map(({ name }) => name);

const readiness = async ({ gateway }: Pick<Sale, 'gateway'>) => {
  const response = await gateway.call('/health/ready', { apiKey: null });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

const statusOf = async ({ gateway }: Pick<Sale, 'gateway'>, path: string): Promise<number> =>
  (await gateway.call(path, { apiKey: null })).status;

const importLeads = async ({ gateway }: Sale, leads: Lead[]): Promise<void> => {
  const keeper = await openLeadIndex(gateway.services.config);
  await keeper.importLeads({
    input: leadInputOf(leads),
    mode: 'upsert',
    signal: new AbortController().signal,
  });
  await keeper.close();
};

const termsOf = (response: Response): Record<string, unknown> =>
  JSON.parse(Buffer.from(response.headers.get('payment-required') ?? '', 'base64').toString('utf8'));

const toHeader = (proof: unknown): Record<string, string> => ({
  'payment-signature': Buffer.from(JSON.stringify(proof)).toString('base64'),
});

it('a start takes over the list of forgotten people of an earlier version', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'causeway-upgrade-'));
  closing.push(() => rm(dataDir, { recursive: true, force: true }));
  const oldList = join(import.meta.dirname, '../leads/old-lists/leads/forgotten.db');
  await cp(oldList, join(dataDir, 'leads', 'forgotten.db'));
  const { gateway } = await start(stubNetwork, { DATA_DIR: dataDir });
  const { findForgotten } = gateway.services.leads;
  const found = await findForgotten(['ANNA', 'nobody', 'zoë'], { signal: new AbortController().signal });
  expect([...found]).toEqual(['ANNA', 'zoë']);
});

describe('fictional profiles', () => {
  it('are not sold for real money: 503, listed nowhere, and said why; all else works', async () => {
    const sale = await start(mainNetwork);
    const { gateway, agent } = sale;
    const refused = await search(sale);
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({
      error: { code: 'upstream_unavailable', message: expect.stringMatching(/fictional.*not sold/) },
    });
    const overMcp = await agent.callTool({ name: 'search_leads', arguments: {} });
    expect(overMcp).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'upstream_unavailable' } },
    });
    expect(await toolNames(sale)).toEqual([]);
    expect(agent.getInstructions()).not.toContain('search_leads');
    expect(await statusOf(sale, '/.well-known/x402')).toBe(404);
    for (const path of ['/', '/openapi.json', '/docs']) {
      const page = await (await gateway.call(path, { apiKey: null })).text();
      expect([path, page]).toEqual([
        path,
        expect.not.stringMatching(/search_leads|[Ii]nfluencer|PaymentRequired/),
      ]);
    }
    expect(gateway.services.notices().join('\n')).toMatch(
      /The search is not on sale: only fictional profiles/,
    );
    expect(await readiness(sale)).toMatchObject({ status: 200, body: { search: 'not_on_sale' } });
    const image = { model: 'imagemodel-1.0', prompt: 'a ferry' };
    expect((await gateway.call('/v1/images/generations', { body: image })).status).toBe(200);
  });

  it('are not sold for a proof that was made for real ones, which is charged nothing and can be used again', async () => {
    const sale = await start(mainNetwork);
    const { gateway, facilitator } = sale;
    await importLeads(sale, [buildLead({ username: 'ana' })]);
    await vi.waitUntil(() => !gateway.services.leads.status().synthetic, { timeout: 60_000 });
    const terms = await search(sale);
    const proof = toHeader(toProof(termsOf(terms)));
    const { leads } = gateway.services;
    const { search: searchReal } = leads;
    leads.search = async () => [
      buildLead({ profile_pic_url: 'https://example.com/synthetic-profiles/nobody.jpg' }),
    ];
    expect((await search(sale, proof)).status).toBe(503);
    expect(facilitator.settlements()).toBe(0);
    leads.search = searchReal;
    expect((await search(sale, proof)).status).toBe(200);
    expect(facilitator.settlements()).toBe(1);
  });

  it('make room for real ones without a restart', async () => {
    const sale = await start(mainNetwork);
    expect((await search(sale)).status).toBe(503);
    await importLeads(sale, [buildLead({ username: 'ana' })]);
    await vi.waitUntil(() => !sale.gateway.services.leads.status().synthetic, { timeout: 60_000 });
    const terms = await search(sale);
    expect(terms.status).toBe(402);
    expect(await toolNames(sale)).toEqual(['search_leads']);
    expect(await statusOf(sale, '/.well-known/x402')).toBe(200);
    expect(await readiness(sale)).toMatchObject({ status: 200, body: { search: 'ready' } });
    const answered = await search(sale, toHeader(toProof(termsOf(terms))));
    expect(await answered.json()).toMatchObject({ results: [{ username: 'ana' }], count: 1 });
  });

  it('are sold for test money, and say that they are fictional', async () => {
    const sale = await start(stubNetwork);
    await whenSearchReady(sale.gateway);
    const answered = await search(sale, toHeader(toProof(termsOf(await search(sale)))));
    expect(answered.status).toBe(200);
    expect(answered.headers.get('x-causeway-sandbox')).toBe('true');
  });
});

describe('an index without profiles', () => {
  it.each(['false', 'true'])(
    'is ready, and finds nobody at no charge (SEARCH_CHARGE_EMPTY=%s)',
    async (chargeEmpty) => {
      const sale = await start(mainNetwork, { SYNTHETIC_PROFILES: '0', SEARCH_CHARGE_EMPTY: chargeEmpty });
      await whenSearchReady(sale.gateway);
      expect(await readiness(sale)).toMatchObject({ status: 200, body: { ready: true, search: 'empty' } });
      expect(sale.gateway.services.notices().join('\n')).toContain('There are no profiles to search');
      const proof = toProof(termsOf(await search(sale)));
      const nobody = await search(sale, toHeader(proof));
      expect([nobody.status, await nobody.json()]).toEqual([200, { results: [], count: 0 }]);
      expect(nobody.headers.get('payment-response')).toBeNull();
      const overMcp = await sale.agent.callTool({
        name: 'search_leads',
        arguments: { limit: 5 },
        _meta: { 'x402/payment': proof },
      });
      expect(overMcp.structuredContent).toEqual({ results: [], count: 0 });
      expect(sale.facilitator.settlements()).toBe(0);
    },
  );

  it('says in the log why it finds nobody', async () => {
    const { log, lines } = createRecordedLog();
    const gateway = await startTestGateway({ environment: { SYNTHETIC_PROFILES: '0' }, log });
    closing.push(gateway.stop);
    await whenSearchReady(gateway);
    expect(lines).toContainEqual(
      expect.objectContaining({
        msg: 'there are no profiles to search',
        reason: expect.stringContaining('leads import'),
      }),
    );
  });
});

describe('a search that is switched off', () => {
  it.each<Record<string, string>>([{ X402_NETWORKS: 'none' }, { LEADS_SOURCES: 'none' }])(
    'by %j is nowhere, runs no payment code, and leaves the gateway ready',
    async (environment) => {
      const asked = await startStubFacilitator();
      closing.push(asked.close);
      const { log, lines } = createRecordedLog();
      const gateway = await startTestGateway({
        environment: { ...asked.environment, ...environment },
        log,
      });
      closing.push(gateway.stop);
      const agent = new Client({ name: 'test-agent', version: '1' });
      await agent.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`)));
      closing.push(() => agent.close());

      const response = await gateway.call('/v1/search?query=coffee', { apiKey: null });
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({
        error: { code: 'not_found', message: 'The search is switched off on this server.' },
      });
      expect(await toolNames({ agent })).toEqual([]);
      await expect(agent.callTool({ name: 'search_leads', arguments: {} })).rejects.toThrow(/Unknown tool/);
      const { paths, tags, info } = (await (
        await gateway.call('/openapi.json', { apiKey: null })
      ).json()) as {
        paths: object;
        tags: { name: string }[];
        info: { summary: string; description: string };
      };
      expect(Object.keys(paths)).not.toContain('/v1/search');
      expect(tags.map(({ name }) => name)).toEqual(['generation']);
      expect(`${info.summary} ${info.description}`).not.toMatch(/search|x402/i);
      expect(await statusOf({ gateway }, '/.well-known/x402')).toBe(404);
      expect(await readiness({ gateway })).toMatchObject({
        status: 200,
        body: { ready: true, search: 'off', payments: [] },
      });
      expect(gateway.services.notices().join('\n')).toMatch(/The search is switched off/);
      expect(gateway.services.notices().join('\n')).not.toMatch(/facilitator|fictional|wallet/i);
      expect(lines).not.toContainEqual(expect.objectContaining({ part: 'x402' }));
      expect((await gateway.call('/v1/balance')).status).toBe(200);
    },
  );

  it('cannot be one name among others', () => {
    expect(() => readConfig({ LEADS_SOURCES: 'none,embedded' }, null)).toThrow(/^LEADS_SOURCES: .*or none/);
    expect(() => readConfig({ X402_NETWORKS: `none,${stubNetwork}` }, null)).toThrow(
      /^X402_NETWORKS: .*or none/,
    );
  });
});

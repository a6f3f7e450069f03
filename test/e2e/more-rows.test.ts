import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { openLeadIndex } from '../../src/leads/open-lead-index.ts';
import { parseUsd } from '../../src/kit/money.ts';
import { issueKey } from '../../src/accounts/keys.ts';
import { embeddedStoreFile } from '../../src/store/open-store.ts';
import { buildLead } from '../leads/build-lead.ts';
import { startStubService, type StubService } from '../leads/upstream/stub-service.ts';
import { clientKinds, type Meta, type TestClient, type ToolResult } from '../mcp/clients.ts';
import { openAccount } from '../mcp/open-account.ts';
import { readTable, toCells } from '../mcp/read-table.ts';
import { createBuyer, type ChainName } from '../payments/support/buyer.ts';
import { connectAssistant } from '../store/connect-assistant.ts';
import { startPaidSearch, type PaidSearch } from './start-paid-search.ts';

const maxTextLength = 130_000;
/** Half a million characters, with some that a table escapes. */
const people = Array.from({ length: 100 }, (_, index) =>
  buildLead({
    username: `person.${index}`,
    followers: 100_000 - index,
    bio: `Line one\tof ${index}\n${'words '.repeat(800)}end`,
  }),
);
const input = { query: 'words', limit: 100 };

let service: StubService;
let paid: PaidSearch;
beforeAll(async () => {
  service = await startStubService({ kind: 'json', value: people });
  paid = await startPaidSearch({
    environment: { LEADS_SOURCES: 'http', SEARCH_MAX_LIMIT: '100', SEARCH_FROM_BALANCE: 'on' },
    yaml: stringify({
      leads: { http: { url: `${service.origin}/find`, parameters: { q: '{query}', limit: '{limit}' } } },
    }),
  });
});
afterAll(async () => {
  await paid.stop();
  await service.close();
});

const connect = (apiKey: string | null, path = '/mcp'): Promise<TestClient> =>
  clientKinds[0]!.connect(paid.gateway.url + path, apiKey);

const sign = async (agent: TestClient, chain: ChainName = 'base'): Promise<Meta> => {
  const unpaid = await agent.callTool('search_leads', input);
  const terms = unpaid._meta['x402/error'];
  const buyer = await createBuyer(paid.chains);
  const header = Buffer.from(JSON.stringify(terms)).toString('base64');
  const { paymentSignature } = await buyer.prove({ header, body: {} } as never, chain);
  return { 'x402/payment': paymentSignature };
};
const buy = async (agent: TestClient, chain?: ChainName): Promise<{ meta: Meta; found: ToolResult }> => {
  const meta = await sign(agent, chain);
  return { meta, found: await agent.callTool('search_leads', input, { meta }) };
};

type Rows = Record<string, string>[];

/** The first text with its link, checked as every answer must be. */
const readFirst = ({ content, structuredContent }: ToolResult): { rows: Rows; uri: string } => {
  const text = content[0]?.text ?? '';
  expect(text.length).toBeLessThanOrEqual(maxTextLength);
  expect(structuredContent).toMatchObject({ count: people.length, results: people });
  const { sentence, rows } = readTable(text);
  const link = content.find(({ type }) => type === 'resource_link');
  expect(link).toMatchObject({ mimeType: 'text/plain', name: 'more rows' });
  expect(sentence).toContain(
    `The last ${people.length - rows.length} of them are in the resource ${link?.uri}`,
  );
  return { rows, uri: link?.uri ?? '' };
};

/** Reads all rows that a first text has no room for. */
const readAll = async (client: TestClient, uri: string, meta?: Meta): Promise<Rows> => {
  const [content] = await client.readResource(uri, meta);
  const text = content?.text ?? '';
  expect(text.length).toBeLessThanOrEqual(maxTextLength);
  const { sentence, rows } = readTable(text);
  const next = /resource (\S+),/.exec(sentence)?.[1];
  return next === undefined ? rows : [...rows, ...(await readAll(client, next, meta))];
};

const change = (...statements: string[]): void => {
  const file = embeddedStoreFile(paid.gateway.services.config.dataDir);
  const database = new DatabaseSync(file, { timeout: 60_000 });
  for (const statement of statements) database.exec(statement);
  database.close();
};

const dayMs = 86_400_000;
/** Lets a day pass for what was answered. */
const passDay = (): void =>
  change(
    `update payments set updated_at = updated_at - ${dayMs + 1}`,
    `update jobs set finished_at = finished_at - ${dayMs + 1} where kind = 'search'`,
  );

describe('an answer whose text would be too long', () => {
  it.each(['base', 'solana'] as const)(
    'is shown as far as there is room, and the rest is free with the proof that paid on %s',
    async (chain) => {
      const agent = await connect(null);
      const { meta, found } = await buy(agent, chain);
      const { rows, uri } = readFirst(found);
      const charged = await paid.charged(async () => {
        const rest = await readAll(agent, uri, meta);
        expect([...rows, ...rest]).toEqual(people.map(toCells));
        const again = await agent.callTool('search_leads', input, { meta });
        expect(readFirst(again).uri).toBe(uri);
      });
      expect(charged).toBe(0n);
      await expect(agent.readResource(uri)).rejects.toThrow('Send that proof');
      const unsettled = { 'x402/payment': await paid.prove(2, chain) };
      await expect(agent.readResource(uri, unsettled)).rejects.toThrow('has paid for nothing');
      // The hash of the request is known to its buyer alone.
      const other = uri.replace(/[0-9a-f]{64}/, 'f'.repeat(64));
      await expect(agent.readResource(other, meta)).rejects.toThrow('not found');
      await agent.close();
    },
  );

  it('is read with every key of the account whose balance paid, and with no other', async () => {
    const { services } = paid.gateway;
    const buyer = await openAccount(services, { amount: parseUsd('1.00') });
    const client = await connect(buyer.apiKey);
    const { rows, uri } = readFirst(await client.callTool('search_leads', input));
    const issued = await issueKey(services, { accountId: buyer.accountId, label: '', brand: 'causeway' });
    const second = await connect(issued.outcome === 'issued' ? issued.key : '', '/mcp/search');
    for (const reader of [client, second])
      expect([...rows, ...(await readAll(reader, uri))]).toEqual(people.map(toCells));
    const other = await openAccount(services);
    const stranger = await connect(other.apiKey);
    await expect(stranger.readResource(uri)).rejects.toThrow('not found');
    const visitor = await connect(null);
    await expect(visitor.readResource(uri)).rejects.toThrow('needs a key of the account');
    const account = await services.store.getAccount(buyer.accountId);
    expect(account?.balance).toBe(parseUsd('0.74'));
    for (const one of [client, second, stranger, visitor]) await one.close();
  });

  it('is read with a key of the account whose idempotency key it answers, although the job of the key was lost', async () => {
    const visitor = await connect(null);
    const meta = await sign(visitor);
    const { apiKey, accountId } = await openAccount(paid.gateway.services);
    const client = await connect(apiKey);
    const keyed = { ...input, idempotency_key: 'lost' };
    await client.callTool('search_leads', keyed, { meta });
    await vi.waitFor(async () => {
      const [job] = (await paid.gateway.services.store.searchJobs({ accountId, before: null, limit: 1 }))
        .jobs;
      expect(job).toMatchObject({ status: 'done' });
    });
    const error = JSON.stringify({ type: 'server_error', code: 'server_error', message: 'Lost.' });
    const ended = `update jobs set status = 'failed', result = null, error = '${error}'`;
    change(`${ended} where account_id = '${accountId}'`);
    const { rows, uri } = readFirst(await client.callTool('search_leads', keyed));
    expect([...rows, ...(await readAll(client, uri))]).toEqual(people.map(toCells));
    change(`update payments set refunded = 1 where job_id is not null`);
    await expect(client.readResource(uri)).rejects.toThrow('not found');
    for (const one of [client, visitor]) await one.close();
  });

  it('is read by a connection that may search, and by no other connection', async () => {
    const { services } = paid.gateway;
    const { accountId } = await openAccount(services, { amount: parseUsd('1.00') });
    const open = async (scopes: string[]): Promise<TestClient> => {
      const { token } = await connectAssistant(services.store, { accountId, now: Date.now(), scopes });
      return connect(token, '/mcp/account');
    };
    const searching = await open(['search']);
    const { rows, uri } = readFirst(await searching.callTool('search_leads', input));
    expect([...rows, ...(await readAll(searching, uri))]).toEqual(people.map(toCells));
    const reading = await open(['read']);
    await expect(reading.readResource(uri)).rejects.toThrow('may not');
    await searching.close();
    await reading.close();
  });

  it('leaves out who asked to be forgotten since, and passes over nobody else', async () => {
    const agent = await connect(null);
    const { meta, found } = await buy(agent);
    const { rows, uri } = readFirst(found);
    const keeper = await openLeadIndex(paid.gateway.services.config);
    await keeper.forget(['person.1', 'person.99'], { signal: new AbortController().signal });
    const rest = await readAll(agent, uri, meta);
    const names = new Set([...rows, ...rest].map(({ username }) => username));
    expect(rest.map(({ username }) => username)).not.toContain('person.99');
    for (const { username } of people.slice(0, -1)) expect(names).toContain(username);
    await keeper.remember(['person.1', 'person.99']);
    await keeper.close();
    await agent.close();
  });

  it('ends after a day, like the answer', async () => {
    const { services } = paid.gateway;
    const { apiKey } = await openAccount(services, { amount: parseUsd('1.00') });
    const client = await connect(apiKey);
    const kept = readFirst(await client.callTool('search_leads', input));
    const agent = await connect(null);
    const { meta, found } = await buy(agent);
    const bought = readFirst(found);
    await agent.readResource(bought.uri, meta);
    passDay();
    await expect(agent.readResource(bought.uri, meta)).rejects.toThrow('for a day, which is over');
    await expect(client.readResource(kept.uri)).rejects.toThrow('not found');
    await client.close();
    await agent.close();
  });
});

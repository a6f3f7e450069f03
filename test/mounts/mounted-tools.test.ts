import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toolRevenue } from '../../src/operator/tools.ts';
import { runVerb } from '../../src/operator/run-verb.ts';
import type { TestGateway } from '../e2e/start-test-gateway.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { programOf } from './mount-yaml.ts';
import { startMountingGateway } from './start-mounting-gateway.ts';

let folder: string;
let gateway: TestGateway;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-mounted-'));
  await writeFile(join(folder, 'a.txt'), 'hello');
  gateway = await startMountingGateway({
    everything: { args: [programOf('everything')], prices: { 'get-sum': '0.25', echo: 'free' } },
    files: {
      args: [programOf('filesystem'), folder],
      allow: ['read_text_file', 'write_file', 'list_directory'],
      hide: ['write_file'],
      prices: { read_text_file: 0.002 },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await rm(folder, { recursive: true });
});

const balance = async (): Promise<string> => {
  const body = (await (await gateway.call('/v1/balance')).json()) as { balance_usd: string };
  return body.balance_usd;
};

const connect = async (path: string): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(gateway.url + path), {
      requestInit: { headers: { authorization: `Bearer ${gateway.apiKey}` } },
    }),
  );
  return client;
};

describe('tools of servers that nobody here wrote', () => {
  it('are neither listed nor called before an operator accepts them', async () => {
    const { store } = gateway.services;
    await expect
      .poll(async () => (await store.listMountedTools('files')).length, { timeout: 60_000 })
      .toBe(2);
    const client = await connect('/mcp/tools');
    expect((await client.listTools()).tools).toEqual([]);
    const answer = await gateway.call('/v1/tools/files/read_text_file', { body: { arguments: {} } });
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ error: { code: 'tool_not_found' } });
    await client.close();
    await acceptToolsOf(gateway.services, 'files');
    await acceptToolsOf(gateway.services, 'everything');
    const [row] = await store.listMountedTools('files');
    expect(row).toMatchObject({ acceptedBy: 'cli:tests', acceptedPin: row?.pin });
  });

  it('are listed at one address for all, and at one for each server', async () => {
    const all = await connect('/mcp/tools');
    const { tools } = await all.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toContain('everything__echo');
    expect(names.filter((name) => name.startsWith('files__'))).toEqual([
      'files__list_directory',
      'files__read_text_file',
    ]);
    expect(tools.find(({ name }) => name === 'files__read_text_file')?.description).toMatch(
      /Price: \$0\.002 a call that succeeds\.$/,
    );
    const own = await connect('/mcp/tools/files');
    expect((await own.listTools()).tools).toHaveLength(2);
    await expect(
      own.callTool({ name: 'everything__echo', arguments: { message: 'x' } }),
    ).resolves.toMatchObject({
      isError: true,
    });
    await Promise.all([all.close(), own.close()]);
  });

  it('need a key', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect((await gateway.call('/mcp/tools', { body, apiKey: null })).status).toBe(401);
    expect((await gateway.call('/v1/tools', { apiKey: null })).status).toBe(401);
    expect((await gateway.call('/mcp/tools/unknown', { body })).status).toBe(404);
  });

  it('are charged when they succeed, and answer the same again under one key', async () => {
    const before = Number(await balance());
    const client = await connect('/mcp/tools');
    const call = {
      name: 'files__read_text_file',
      arguments: { path: join(folder, 'a.txt') },
      _meta: { 'causeway/idempotency-key': 'read-1' },
    };
    const first = await client.callTool(call);
    expect(first.content).toEqual([{ type: 'text', text: 'hello' }]);
    expect(first._meta).toMatchObject({ 'causeway/charge-usd': '0.002' });
    await writeFile(join(folder, 'a.txt'), 'changed');
    const again = await client.callTool(call);
    expect(again.content).toEqual(first.content);
    expect(again._meta).toMatchObject({ 'causeway/idempotent-replayed': true });
    expect(Number(await balance())).toBeCloseTo(before - 0.002, 9);
    await client.close();
  });

  it('answer by their jobs, too, for callers whose connection broke', async () => {
    const tool = '/v1/tools/files/read_text_file';
    const called = await gateway.call(tool, { body: { arguments: { path: join(folder, 'a.txt') } } });
    const result = (await called.json()) as object;
    const listed = (await (await gateway.call('/v1/jobs?limit=1')).json()) as { data: { id: string }[] };
    const job = await gateway.call(`/v1/jobs/${listed.data[0]?.id}`);
    expect(await job.json()).toMatchObject({ status: 'done', response: result });
  });

  it('cost nothing when they fail', async () => {
    const before = await balance();
    const answer = await gateway.call('/v1/tools/files/read_text_file', {
      body: { arguments: { path: join(folder, 'none.txt') } },
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-causeway-charge-usd')).toBe('0.00');
    expect(await answer.json()).toMatchObject({ isError: true });
    expect(await balance()).toBe(before);
  });

  it('are called over REST, with an Idempotency-Key that is bound to the tool and its arguments', async () => {
    const list = await (await gateway.call('/v1/tools')).json();
    expect(list).toMatchObject({
      tools: expect.arrayContaining([
        expect.objectContaining({ server: 'everything', tool: 'get-sum', price_usd: '0.25' }),
        expect.objectContaining({ mcp_name: 'everything__echo', price_usd: '0.00' }),
      ]),
    });
    const sum = (a: number) =>
      gateway.call('/v1/tools/everything/get-sum', {
        body: { arguments: { a, b: 2 } },
        headers: { 'idempotency-key': 'sum-1' },
      });
    const first = await sum(1);
    expect(first.status).toBe(200);
    expect(first.headers.get('x-causeway-charge-usd')).toBe('0.25');
    expect((await sum(1)).headers.get('idempotent-replayed')).toBe('true');
    expect((await sum(5)).status).toBe(409);
  });

  it('leave the ledger exact after many calls at once', async () => {
    const before = Number(await balance());
    const answers = await Promise.all(
      Array.from({ length: 16 }, async () => {
        let charged = 0;
        for (let index = 0; index < 4; index += 1) {
          const path = join(folder, index === 3 ? 'none.txt' : 'a.txt');
          const answer = await gateway.call('/v1/tools/files/read_text_file', {
            body: { arguments: { path } },
          });
          charged += Number(answer.headers.get('x-causeway-charge-usd'));
        }
        return charged;
      }),
    );
    const charged = answers.reduce((sum, one) => sum + one, 0);
    expect(charged).toBeCloseTo(16 * 3 * 0.002, 9);
    expect(Number(await balance())).toBeCloseTo(before - charged, 9);
    expect(await gateway.services.store.checkLedger()).toMatchObject({ problems: [], openHolds: 0 });
  });

  it('are summed up for operators, with what failed and what they earned', async () => {
    const { store, clock, config } = gateway.services;
    const services = { store, clock, brand: config.brand, config: async () => config };
    const call = { actor: 'cli:tests', actorLabel: null, role: 'read', requestId: null } as const;
    const to = new Date(clock.now() + 1_000).toISOString();
    const { tools } = await runVerb(toolRevenue, async () => ({ to }), call, services);
    const read = tools.find(({ tool }) => tool === 'read_text_file');
    expect(read).toMatchObject({ server: 'files', cost_usd: null, margin_usd: null });
    expect(read?.errors).toBeGreaterThanOrEqual(16);
    const { calls = 0, errors = 0 } = read ?? {};
    expect(Number(read?.income_usd)).toBeCloseTo((calls - errors) * 0.002, 9);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changeKey, issueKey, listKeys } from '../../src/operator/keys.ts';
import { runVerb } from '../../src/operator/run-verb.ts';
import type { Verb } from '../../src/operator/verb.ts';
import type { TestGateway } from '../e2e/start-test-gateway.ts';
import { openAccount } from '../mcp/open-account.ts';
import { connectAssistant } from '../store/connect-assistant.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { connectClient, namesOf } from './connect-client.ts';
import { hostileProgram } from './mount-yaml.ts';
import { startMountingGateway } from './start-mounting-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  const prices = { count: '0.30', echo: 'free' };
  gateway = await startMountingGateway({
    first: { args: [hostileProgram], prices, allow: ['count', 'echo', 'fail'], account: true },
    second: { args: [hostileProgram], prices, allow: ['count', 'echo'] },
  });
  await acceptToolsOf(gateway.services, 'first');
  await acceptToolsOf(gateway.services, 'second');
});
afterAll(() => gateway.stop());

const makeKey = async (limits: object): Promise<{ id: string; key: string }> => {
  const answer = await gateway.call('/v1/keys', { body: limits });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { id: string; key: string };
};

const listed = async (apiKey: string): Promise<string[]> => {
  const { tools } = (await (await gateway.call('/v1/tools', { apiKey })).json()) as {
    tools: { mcp_name: string }[];
  };
  return tools.map(({ mcp_name }) => mcp_name);
};

const call = (apiKey: string, path: string): Promise<Response> =>
  gateway.call(`/v1/tools/${path}`, { apiKey, body: {} });

const chat = { model: 'textmodel-3.5-flash', messages: [{ role: 'user', content: 'Hello' }] };

describe('a key with a list of tools', () => {
  it('lists and calls the tools of a server and a single one, and no others, at each address', async () => {
    const { key } = await makeKey({ tools: ['second', 'first__echo'] });
    const own = ['first__echo', 'second__count', 'second__echo'];
    expect(await listed(key)).toEqual(own);
    const all = await connectClient(`${gateway.url}/mcp/tools`, key);
    expect(await namesOf(all)).toEqual(own);
    expect(await all.callTool({ name: 'second__echo', arguments: {} })).not.toHaveProperty('isError');
    expect(await all.callTool({ name: 'first__count', arguments: {} })).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'tool_not_found' } },
    });
    const one = await connectClient(`${gateway.url}/mcp/tools/first`, key);
    expect(await namesOf(one)).toEqual(['first__echo']);
    const account = await connectClient(`${gateway.url}/mcp/account`, key);
    expect((await namesOf(account)).filter((name) => name.includes('__'))).toEqual(['first__echo']);
    const statuses = [
      await call(key, 'second/count'),
      await call(key, 'first/echo'),
      await call(key, 'first/count'),
    ];
    expect(statuses.map(({ status }) => status)).toEqual([200, 200, 404]);
  });

  it('buys no models unless it names them, and one that names models has no tools unless it names them', async () => {
    const tools = await makeKey({ tools: ['first'] });
    const models = await makeKey({ models: ['textmodel-3.5-flash'] });
    const both = await makeKey({ tools: ['first'], models: ['textmodel-3.5-flash'] });
    const buys = async ({ key }: { key: string }) => {
      const { status } = await gateway.call('/v1/chat/completions', { apiKey: key, body: chat });
      return [status, (await call(key, 'first/echo')).status];
    };
    expect([await buys(tools), await buys(models), await buys(both)]).toEqual([
      [400, 200],
      [200, 404],
      [200, 200],
    ]);
  });

  it('is changed from its next call on, and shows its tools', async () => {
    const { id, key } = await makeKey({ tools: ['first'] });
    const changed = await gateway.call(`/v1/keys/${id}`, { body: { tools: ['second__echo'] } });
    expect(await changed.json()).toMatchObject({ tools: ['second__echo'], models: null });
    expect(await listed(key)).toEqual(['second__echo']);
    await gateway.call(`/v1/keys/${id}`, { body: { tools: null } });
    expect(await listed(key)).toHaveLength(5);
  });

  it('manages no keys', async () => {
    const { key } = await makeKey({ tools: ['first'] });
    expect((await gateway.call('/v1/keys', { apiKey: key, body: {} })).status).toBe(403);
  });

  it.each([
    [['frist'], 'did you mean first?'],
    [['first__cuont'], 'did you mean first__count?'],
    [['nothing__like'], 'see GET /v1/tools'],
    [['a\nb'], 'is no mounted server'],
    [['x'.repeat(65)], 'tools'],
    [[], 'tools'],
  ])('is refused with %j', async (tools, said) => {
    const answer = await gateway.call('/v1/keys', { body: { tools } });
    expect([answer.status, await answer.json()]).toEqual([
      422,
      {
        error: expect.objectContaining({
          code: 'invalid_parameter',
          message: expect.stringContaining(said),
        }),
      },
    ]);
  });

  it('pays for tools within its budget', async () => {
    const { key } = await makeKey({ tools: ['first'], budget_day_usd: '0.50' });
    expect((await call(key, 'first/count')).status).toBe(200);
    const refused = await call(key, 'first/count');
    expect(refused.status).toBe(402);
    expect(await refused.json()).toMatchObject({ error: { param: 'budget_day_usd' } });
    expect((await call(key, 'first/echo')).status).toBe(200);
  });

  it('is issued, changed and listed by an operator', async () => {
    const { accountId } = await openAccount(gateway.services);
    const { store, clock, config } = gateway.services;
    const services = { store, clock, brand: config.brand, config: async () => config };
    const caller = { actor: 'cli:tests', actorLabel: null, role: 'write', requestId: null } as const;
    const run = (verb: Verb, input: object): Promise<object> =>
      runVerb(verb, async () => input, caller, services);
    const issued = (await run(issueKey, { account_id: accountId, tools: ['first'] })) as {
      api_key: { id: string };
    };
    expect(issued).toMatchObject({ api_key: { tools: ['first'] } });
    const { id } = issued.api_key;
    await run(changeKey, { key_id: id, tools: ['first__echo'] });
    expect(await run(listKeys, { account_id: accountId })).toMatchObject({
      api_keys: expect.arrayContaining([expect.objectContaining({ id, tools: ['first__echo'] })]),
    });
    await expect(run(changeKey, { key_id: id, tools: ['frist'] })).rejects.toMatchObject({
      param: 'tools',
    });
  });

  it('gives a connection that it made no more than its own tools', async () => {
    const { accountId } = await openAccount(gateway.services);
    const { token } = await connectAssistant(gateway.services.store, {
      accountId,
      now: Date.now(),
      scopes: ['read', 'tools'],
      servers: ['first'],
      parentLimits: { tools: ['first__echo', 'second'] },
    });
    const client = await connectClient(`${gateway.url}/mcp/account`, token);
    expect((await namesOf(client)).filter((name) => name.includes('__'))).toEqual(['first__echo']);
  });
});

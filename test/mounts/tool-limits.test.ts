import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../e2e/start-test-gateway.ts';
import { openAccount } from '../mcp/open-account.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { connectClient } from './connect-client.ts';
import { hostileProgram } from './mount-yaml.ts';
import { startMountingGateway } from './start-mounting-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startMountingGateway({
    rare: { args: [hostileProgram], allow: ['echo'], calls_per_minute: 2 },
    narrow: {
      args: [hostileProgram],
      allow: ['echo', 'hang', 'die'],
      concurrent_calls: 2,
      prices: { hang: 1 },
    },
  });
  await acceptToolsOf(gateway.services, 'rare');
  await acceptToolsOf(gateway.services, 'narrow');
});
afterAll(() => gateway.stop());

const call = (path: string, apiKey = gateway.apiKey, key?: string): Promise<Response> =>
  gateway.call(`/v1/tools/${path}`, {
    apiKey,
    body: {},
    ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
  });

const refusal = async (answer: Response) => ({
  status: answer.status,
  code: ((await answer.json()) as { error?: { code: string } }).error?.code,
  waits: Number(answer.headers.get('retry-after')) > 0,
});

describe('an account', () => {
  it('makes as many calls of a server in a minute as its setting says, and a repeat of one counts for none', async () => {
    const { apiKey } = await openAccount(gateway.services);
    expect((await call('rare/echo', apiKey, 'once')).status).toBe(200);
    expect((await call('rare/echo', apiKey)).status).toBe(200);
    const refused = { status: 429, code: 'rate_limit_exceeded', waits: true };
    expect(await refusal(await call('rare/echo', apiKey))).toEqual(refused);
    expect((await call('rare/echo', apiKey, 'once')).headers.get('idempotent-replayed')).toBe('true');
    expect((await call('narrow/echo', apiKey)).status).toBe(200);
    expect((await call('rare/echo')).status).toBe(200);
    const client = await connectClient(`${gateway.url}/mcp/tools`, apiKey);
    expect(await client.callTool({ name: 'rare__echo', arguments: {} })).toMatchObject({
      isError: true,
      structuredContent: {
        error: {
          code: 'rate_limit_exceeded',
          message: expect.stringContaining('Too many calls of rare of this account: at most 2 a minute.'),
          retry_after_seconds: expect.any(Number),
        },
      },
    });
  });

  it('has as many calls at a server at once as its setting says, others have their own, and each end frees one', async () => {
    const { apiKey, accountId } = await openAccount(gateway.services);
    const hanging = [call('narrow/hang', apiKey), call('narrow/hang', apiKey)];
    const refused = { status: 429, code: 'too_many_active_jobs', waits: true };
    const held = async () => (await gateway.services.store.getAccount(accountId))?.held;
    await expect.poll(held).toBe(2_000_000_000n);
    for (const tool of ['echo', 'hang'])
      expect(await refusal(await call(`narrow/${tool}`, apiKey))).toEqual(refused);
    expect(await held()).toBe(2_000_000_000n);
    expect((await call('rare/echo', apiKey)).status).toBe(200);
    expect((await call('narrow/echo')).status).toBe(200);
    await call('narrow/die');
    for (const answer of await Promise.all(hanging)) expect(answer.status).toBe(502);
    await expect.poll(async () => (await call('narrow/echo', apiKey)).status, { timeout: 30_000 }).toBe(200);
    expect(await held()).toBe(0n);
  });

  it('is refused no call because earlier ones were refused', async () => {
    const { apiKey } = await openAccount(gateway.services, { amount: 0n });
    for (const _ of [1, 2, 3]) expect((await call('narrow/hang', apiKey)).status).toBe(402);
    expect((await call('narrow/echo', apiKey)).status).toBe(200);
  });
});

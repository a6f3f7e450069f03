import { queryObjects } from 'node:v8';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { openWallet } from '../../mcp/open-wallet.ts';
import { issueOperator, signInTo, type ConsoleClient } from './console-client.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const openCustomer = async () => {
  const account = await openAccount(gateway.services);
  return { ...account, ...(await signInTo(gateway.url, account.apiKey)) };
};

/** Opens the stream, and counts what it says. */
const listen = async ({ call }: Pick<ConsoleClient, 'call'>, path = '/console/live') => {
  const answer = await call(path);
  const heard: string[] = [];
  const reading = (async () => {
    for await (const text of answer.body?.pipeThrough(new TextDecoderStream()) ?? [])
      heard.push(...text.split('\n\n').filter((event) => event.startsWith('data: ')));
  })();
  return { status: answer.status, heard, reading };
};

describe('the stream of a page of an operator', () => {
  it('says when a job, a payment or a change of an operator is new, and ends with its key', async () => {
    const { id, key } = await issueOperator(gateway.services);
    const operator = await signInTo(gateway.url, key);
    const { heard, reading } = await listen(operator, '/console/admin/live');
    const untilHeard = (count: number) => vi.waitUntil(() => heard.length >= count, { timeout: 30_000 });
    await untilHeard(1);
    const { apiKey, accountId } = await openAccount(gateway.services);
    await gateway.call('/v1/images/generations', {
      apiKey,
      body: { model: 'imagemodel-1.0', prompt: 'A pier' },
    });
    await untilHeard(2);
    const before = heard.length;
    const changed = await operator.call(`/console/admin/v1/accounts/${accountId}/suspend`, { body: {} });
    expect(changed.status).toBe(200);
    await untilHeard(before + 1);
    await gateway.services.store.revokeOperatorKey({ id, now: Date.now() });
    await reading;
    expect(new Set(heard)).toEqual(new Set(['data: changed']));
    expect((await operator.call('/console/admin/live')).status).toBe(401);
  });

  it('is not for customers, is open three times a session, and ends with it', async () => {
    expect((await (await openCustomer()).call('/console/admin/live')).status).toBe(401);
    const operator = await signInTo(gateway.url, (await issueOperator(gateway.services)).key);
    expect((await operator.call('/console/live')).status).toBe(401);
    const opened = await Promise.all([1, 2, 3].map(() => listen(operator, '/console/admin/live')));
    expect((await operator.call('/console/admin/live')).status).toBe(429);
    await operator.call('/console/session', { method: 'DELETE' });
    await Promise.all(opened.map(({ reading }) => reading));
  });
});

describe('the stream of a page of the console', () => {
  it('says when the balance has changed, and ends with its key', async () => {
    const customer = await openCustomer();
    const { heard, reading } = await listen(customer);
    await vi.waitUntil(() => heard.length === 1, { timeout: 30_000 });
    await gateway.call('/v1/images/generations', {
      apiKey: customer.apiKey,
      body: { model: 'imagemodel-1.0', prompt: 'A pier' },
    });
    await vi.waitUntil(() => heard.length > 1, { timeout: 30_000 });
    await gateway.services.store.revokeKey({ id: customer.keyId, now: Date.now() });
    await reading;
    expect(new Set(heard)).toEqual(new Set(['data: changed']));
  });

  it('is open three times a session, and is refused without one', async () => {
    const customer = await openCustomer();
    const opened = await Promise.all([1, 2, 3].map(() => listen(customer)));
    expect((await customer.call('/console/live')).status).toBe(429);
    await customer.call('/console/session', { method: 'DELETE' });
    await Promise.all(opened.map(({ reading }) => reading));
    expect((await customer.call('/console/live')).status).toBe(401);
  });

  it('is open six times an account', async () => {
    const { apiKey } = await openAccount(gateway.services);
    const sessions = await Promise.all([1, 2, 3].map(() => signInTo(gateway.url, apiKey)));
    const opened = await Promise.all(sessions.flatMap((one) => [listen(one), listen(one)]));
    expect(new Set(opened.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await sessions[0]!.call('/console/live')).status).toBe(429);
    for (const one of sessions) await one.call('/console/session', { method: 'DELETE' });
    await Promise.all(opened.map(({ reading }) => reading));
  });

  it('is open so often for wallets without money together, and then still for all others', async () => {
    const wallets = await Promise.all(
      Array.from({ length: 34 }, async () => {
        const apiKey = await openWallet(gateway.services);
        const sessions = await Promise.all([1, 2].map(() => signInTo(gateway.url, apiKey)));
        return sessions.flatMap((one) => [one, one, one]);
      }),
    );
    const opened = await Promise.all(wallets.flat().map((one) => listen(one)));
    const refused = opened.filter(({ status }) => status === 429);
    expect(refused.length).toBe(4);
    const customer = await openCustomer();
    const operator = await signInTo(gateway.url, (await issueOperator(gateway.services)).key);
    const others = [await listen(customer), await listen(operator, '/console/admin/live')];
    expect(others.map(({ status }) => status)).toEqual([200, 200]);
    for (const one of [...new Set(wallets.flat()), customer, operator])
      await one.call('/console/session', { method: 'DELETE' });
    await Promise.all([...opened, ...others].map(({ reading }) => reading));
  });

  it('leaves nothing in memory when it has ended or was refused', async () => {
    const customer = await openCustomer();
    const signals = (): number => queryObjects(AbortSignal, { format: 'count' });
    const before = signals();
    const opened = await Promise.all([1, 2, 3].map(() => listen(customer)));
    for (let call = 0; call < 20; call += 1) await (await customer.call('/console/live')).text();
    await customer.call('/console/session', { method: 'DELETE' });
    await Promise.all(opened.map(({ reading }) => reading));
    expect(signals() - before).toBeLessThan(20);
  });
});

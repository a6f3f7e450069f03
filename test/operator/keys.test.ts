import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { issueOperatorKey } from '../../src/operator/operators.ts';
import { startTestGateway } from '../e2e/start-test-gateway.ts';
import { openAccount } from '../mcp/open-account.ts';
import { connectAssistant } from '../store/connect-assistant.ts';

interface Answer {
  key: string;
  api_key: { id: string };
}

const open = async () => {
  const gateway = await startTestGateway();
  onTestFinished(gateway.stop);
  const { services } = gateway;
  const operator = await issueOperatorKey(
    { ...services, brand: 'causeway', config: () => Promise.resolve(services.config) },
    { id: randomUUID(), label: 'console', role: 'write', expiresAt: null },
  );
  const call = async (path: string, body?: object): Promise<Answer> => {
    const answer = await gateway.call(`/admin/v1${path}`, { apiKey: operator.key, body });
    expect(answer.status).toBe(200);
    return (await answer.json()) as Answer;
  };
  return { gateway, call, ...(await openAccount(services)) };
};

test('operators issue, list, limit and revoke the keys of an account over HTTP', async () => {
  const { gateway, call, accountId, keyId } = await open();
  const draw = async (apiKey: string): Promise<number> => {
    const body = { model: 'imagemodel-1.0', prompt: 'a pier' };
    return (await gateway.call('/v1/images/generations', { apiKey, body })).status;
  };
  const issued = await call(`/accounts/${accountId}/keys`, { label: 'trial', budget_day_usd: '0.05' });
  const { key, api_key: apiKey } = issued;
  expect(apiKey).toMatchObject({ account_id: accountId, label: 'trial', created_by: 'operator' });
  expect([await draw(key), await draw(key)]).toEqual([200, 402]);
  const listed = await call(`/accounts/${accountId}/keys`);
  expect(listed).toMatchObject({
    api_keys: [
      { id: apiKey.id, day_spent_usd: '0.04' },
      { id: keyId, day_spent_usd: null },
    ],
    has_more: false,
  });
  await call(`/keys/${apiKey.id}`, { budget_day_usd: '0.10' });
  expect(await draw(key)).toBe(200);
  await call(`/keys/${apiKey.id}/revoke`, {});
  expect(await draw(key)).toBe(401);
});

test('operators list, limit and revoke the connections of an account over HTTP', async () => {
  const { gateway, call, accountId } = await open();
  const { store } = gateway.services;
  const { connectionId, token } = await connectAssistant(store, { accountId, now: Date.now() });
  expect(await call(`/accounts/${accountId}/connections`)).toMatchObject({
    connections: [
      { id: connectionId, account_id: accountId, budget_day_usd: '5.00', budget_total_usd: null },
    ],
  });
  const limits = { budget_day_usd: null, budget_total_usd: '0.01' };
  expect(await call(`/connections/${connectionId}`, limits)).toMatchObject({ connection: limits });
  const params = { name: 'create_image', arguments: { model: 'imagemodel-1.0', prompt: 'a pier' } };
  const draw = () =>
    gateway.call('/mcp/account', {
      apiKey: token,
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      headers: { accept: 'application/json, text/event-stream' },
    });
  expect(await (await draw()).text()).toContain('budget_total_usd');
  await call(`/connections/${connectionId}/revoke`, {});
  expect((await draw()).status).toBe(401);
});

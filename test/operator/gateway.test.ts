import { expect, it, onTestFinished } from 'vitest';
import { operatorOf } from '../cli/run-cli.ts';
import { startUpstreamGateway } from '../e2e/start-upstream-gateway.ts';
import { createOperatorClient } from './operator-client.ts';

const start = async (environment: Record<string, string> = {}) => {
  const upstream = await startUpstreamGateway(environment);
  onTestFinished(() => upstream.stop());
  return { ...upstream, client: await createOperatorClient(upstream.gateway, 'read') };
};

it('tells of each provider what it serves, and how its last calls went', async () => {
  const { client, upstream, ask } = await start();
  const health = async () => {
    const { body } = await client.get('/providers');
    return (body['providers'] as { name: string }[]).find(({ name }) => name === 'up');
  };
  const served = { kind: 'chat', model: 'upstream-name', skus: ['textmodel-3.5-flash'] };
  expect(await health()).toEqual({
    name: 'up',
    type: 'openai',
    sandbox: false,
    retries_left: 10,
    pay: null,
    models: [
      {
        ...served,
        ...{ state: 'up', calls: 0, failures: 0, breaker: 'closed', rest_ms: 0 },
        ...{ last_success_at: null, last_failure: null },
      },
    ],
  });
  expect((await ask()).status).toBe(200);
  const time = expect.stringMatching(/^\d{4}-.*Z$/);
  expect(await health()).toMatchObject({
    models: [{ state: 'up', calls: 1, failures: 0, last_success_at: time, last_failure: null }],
  });

  upstream.setDefault({ kind: 'error', status: 503 });
  await ask();
  expect(await health()).toMatchObject({
    retries_left: 8,
    models: [
      {
        ...{ state: 'up', calls: 4, failures: 3, breaker: 'closed' },
        last_success_at: time,
        last_failure: { failure: 'retry_same', code: 'upstream_unavailable', at: time },
      },
    ],
  });
  for (let calls = 0; calls < 12; calls += 1) await ask();
  const failing = await health();
  expect(failing).toMatchObject({
    models: [{ state: 'failing', breaker: 'open', rest_ms: expect.any(Number) }],
  });
  expect(JSON.stringify(failing)).not.toContain('upstream-secret');
});

it('does not blame a provider for a request that is wrong', async () => {
  const { client, upstream, ask } = await start();
  upstream.script({ kind: 'error', status: 400 });
  await ask();
  const { body } = await client.get('/providers');
  expect(body['providers']).toContainEqual(
    expect.objectContaining({ name: 'up', models: [expect.objectContaining({ last_failure: null })] }),
  );
});

it('shows the settings in force without secrets, and so does the command line', async () => {
  const environment = {
    X402_EVM_REFUND_KEY: `0x${'7'.repeat(64)}`,
    CAUSEWAY_API_KEY: `sk_causeway_${'Ab3'.repeat(14)}Z`,
    X402_SOLANA_RPC_URL: 'https://node.test/hush-hush',
  };
  const { client } = await start(environment);
  const { status, body } = await client.get('/settings');
  expect(status).toBe(200);
  expect(body['settings']).toEqual(
    expect.arrayContaining([
      { name: 'BRAND', value: 'causeway', source: 'default', secret: false },
      { name: 'PORT', value: '0', source: 'environment', secret: false },
      { name: 'X402_EVM_REFUND_KEY', value: '(hidden)', source: 'environment', secret: true },
      {
        name: 'X402_SOLANA_RPC_URL',
        value: 'https://node.test/(hidden)',
        source: 'environment',
        secret: true,
      },
    ]),
  );
  expect(body['file']).toMatchObject({ providers: { up: { type: 'openai', api_key_env: 'UPSTREAM_KEY' } } });
  expect(JSON.stringify(body)).not.toMatch(/7777|Ab3Ab3|hush|upstream-secret/);

  const operator = operatorOf(environment);
  const told = await operator.print('settings', '--json');
  expect(told.exitCode).toBe(0);
  expect(JSON.parse(told.stdout)).toMatchObject({ settings: expect.any(Array), file: null });
  const shown = await operator.print('settings');
  expect(shown.stdout).toMatch(/^X402_EVM_REFUND_KEY +\(hidden\) +environment$/m);
  expect(told.stdout + shown.stdout).not.toMatch(/7777|Ab3Ab3|hush/);
});

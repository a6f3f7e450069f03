import { expect, it, onTestFinished } from 'vitest';
import { createOperatorClient } from '../operator/operator-client.ts';
import { operatorOf } from '../cli/run-cli.ts';
import { startTestGateway, type TestGatewayOptions } from './start-test-gateway.ts';

const model = (sku: string, usd: string, provider = 'sandbox') =>
  `  ${sku}: { kind: image, price: { unit: call, price_usd: "${usd}" }, routes: [{ provider: ${provider} }] }\n`;
const up = (path: string) => `providers:\n  up: { type: openai, base_url: "https://up.example/${path}" }\n`;

const start = async (yaml: string, next: NonNullable<TestGatewayOptions['next']>) => {
  const gateway = await startTestGateway({ yaml, next });
  onTestFinished(() => gateway.stop());
  const operator = await createOperatorClient(gateway);
  return {
    gateway,
    operator,
    reload: () => operator.post('/settings/reload'),
    models: async () => (await gateway.call('/v1/models')).text(),
    draw: (name: string) =>
      gateway.call('/v1/images/generations', { body: { model: name, prompt: 'A lighthouse' } }),
  };
};

it('sells what the file has now, under the changes of operators, and names what needs a restart', async () => {
  const next = {
    yaml: `models:\n${model('one', '0.05')}${model('two', '0.07')}x402:\n  {}\n`,
    environment: { REQUESTS_PER_MINUTE: '7', LOG_LEVEL: 'warn' },
  };
  const { gateway, operator, reload, draw } = await start(`models:\n${model('one', '0.04')}`, next);
  await operator.post('/models/one', { price: { unit: 'call', price_usd: '0.09' } });
  expect(await reload()).toEqual({
    status: 200,
    body: { applied: ['REQUESTS_PER_MINUTE', 'models'], restart: ['LOG_LEVEL', 'x402'] },
  });
  const [one, two] = [await draw('one'), await draw('two')];
  expect([one, two].map(({ headers }) => headers.get('x-causeway-charge-usd'))).toEqual(['0.09', '0.07']);
  expect(two.headers.get('x-ratelimit-limit-requests')).toBe('7');
  await operator.post('/models/one/unset');
  expect((await draw('one')).headers.get('x-causeway-charge-usd')).toBe('0.05');
  expect((await reload()).body).toEqual({ applied: [], restart: ['LOG_LEVEL', 'x402'] });
  const { body: shown } = await operator.get('/settings');
  expect(shown).toMatchObject({ file: { models: { two: { kind: 'image' } } } });
  expect(shown['file']).not.toHaveProperty('x402');
  expect(shown['settings']).toContainEqual(
    expect.objectContaining({ name: 'REQUESTS_PER_MINUTE', value: '7' }),
  );
  expect((await gateway.services.store.checkLedger()).problems).toEqual([]);
  next.yaml = next.yaml.replace('x402:\n  {}\n', 'leads: {}\n');
  expect((await reload()).body).toEqual({ applied: [], restart: ['LOG_LEVEL', 'leads'] });
});

it('takes a section out once', async () => {
  const next = { yaml: `models:\n${model('one', '0.04')}` };
  const terms = 'wallet_terms:\n  models: [one]\n';
  const { reload } = await start(`models:\n${model('one', '0.04')}${terms}`, next);
  expect((await reload()).body).toEqual({ applied: ['wallet_terms'], restart: [] });
  expect((await reload()).body).toEqual({ applied: [], restart: [] });
});

it('changes nothing when a setting is wrong, and says which', async () => {
  const next = {
    yaml: `models:\n${model('one', '0.05', 'gone')}`,
    environment: { REQUESTS_PER_MINUTE: '7' },
  };
  const { reload, models } = await start(`models:\n${model('one', '0.04')}`, next);
  expect(await reload()).toMatchObject({
    status: 400,
    body: { error: { message: 'causeway.yaml: models.one.routes: there is no provider "gone"' } },
  });
  expect(await models()).toContain('"0.04"');
});

it.each([
  [
    'a provider that has changed',
    up('v1') + `models:\n${model('one', '0.04')}${model('real', '1', 'up')}`,
    up('v2') + `models:\n${model('one', '0.05')}${model('real', '1', 'up')}`,
    ['models', 'providers'],
  ],
  [
    'the first real model',
    `models:\n${model('one', '0.04')}`,
    up('v1') + `models:\n${model('one', '0.05')}${model('real', '1', 'up')}`,
    ['models', 'providers'],
  ],
  [
    'a sandbox in place of a real one',
    up('v1') + `models:\n${model('one', '0.04', 'up')}${model('real', '1', 'up')}`,
    up('v1') + `models:\n${model('one', '0.05')}${model('real', '1', 'up')}`,
    ['models'],
  ],
  [
    'the first of its kind',
    `models:\n${model('one', '0.04')}`,
    `models:\n${model('one', '0.05')}  talk: { kind: chat, price: { unit: call, price_usd: "1" }, routes: [{ provider: sandbox }] }\n`,
    ['models'],
  ],
])('models with %s wait for a restart', async (_name, before, after, restart) => {
  const { reload, operator } = await start(before, { yaml: after });
  expect((await reload()).body).toEqual({ applied: [], restart });
  expect(JSON.stringify((await operator.get('/models')).body)).toContain('"0.04"');
});

it('the command asks the running gateway with a key that ends with the call', async () => {
  const { gateway } = await start(`models:\n${model('one', '0.04')}`, {
    yaml: `models:\n${model('one', '0.05')}`,
  });
  const { print, refusal } = operatorOf({ DATA_DIR: gateway.dataDir });
  expect((await print('reload', '--url', gateway.url)).stdout).toBe(
    'Applied: models. After a restart: nothing.\n',
  );
  const keys = await gateway.services.store.listOperatorKeys(undefined);
  expect(keys.find(({ label }) => label === 'causeway reload')?.revokedAt).not.toBeNull();
  expect(await refusal('reload', '--url', 'http://127.0.0.1:1')).toMatchObject({ exitCode: 2 });
  const log = await gateway.services.store.listAudit({ limit: 5 });
  const [issued, revoked] = [
    ['issue_operator_key', expect.stringMatching(/^cli:/)],
    ['revoke_operator_key', expect.stringMatching(/^cli:/)],
  ];
  expect(log.map(({ actor, operation }) => [operation, actor]).toReversed()).toEqual([
    issued,
    ['reload_settings', `key:${keys.at(-1)?.id}`],
    revoked,
    issued,
    revoked,
  ]);
});

it('the command sends no key over plain HTTP to another machine', async () => {
  const { gateway } = await start(`models:\n${model('one', '0.04')}`, { yaml: '' });
  const { refusal } = operatorOf({ DATA_DIR: gateway.dataDir });
  for (const url of ['http://10.0.0.5:8402', 'http://localhost.example', 'ftp://127.0.0.1', 'nothing'])
    expect(await refusal('reload', '--url', url)).toMatchObject({ exitCode: 2, code: 'invalid_usage' });
  expect(await gateway.services.store.listAudit({ limit: 5 })).toEqual([]);
});

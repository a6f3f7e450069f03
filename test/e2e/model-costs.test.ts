import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { createOperatorClient } from '../operator/operator-client.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const text = 'price: { unit: token, input_usd_per_1m: "2", output_usd_per_1m: "4" }';
const yaml = `
models:
  known:
    kind: chat
    ${text}
    routes: [{ provider: sandbox, cost: { unit: token, input_usd_per_1m: "1", output_usd_per_1m: "2" } }]
  unknown: { kind: chat, ${text}, routes: [{ provider: sandbox }] }
  drawn:
    kind: image
    price: { unit: call, price_usd: "0.04" }
    routes: [{ provider: sandbox, cost: { unit: call, price_usd: "0.03" } }]
  filmed:
    kind: video
    duration: { min_seconds: 1, max_seconds: 5 }
    price: { unit: second, rates: [{ resolution: 720p, price_usd: "0.04" }] }
    routes:
      - { provider: sandbox, cost: { unit: second, rates: [{ resolution: 720p, price_usd: "0.01" }] } }
`;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ yaml });
});
afterAll(() => gateway.stop());

it('what a call costs the operator is noted with its charge, and is unknown without a cost', async () => {
  for (const model of ['known', 'unknown'])
    await gateway.call('/v1/chat/completions', {
      body: { model, messages: [{ role: 'user', content: 'Hello' }] },
    });
  await gateway.call('/v1/images/generations', { body: { model: 'drawn', prompt: 'A lighthouse' } });
  const film = await gateway.call('/v1/videos', {
    body: { model: 'filmed', prompt: 'Waves', duration: 2, resolution: '720p' },
  });
  const { id } = (await film.json()) as { id: string };
  await expect
    .poll(async () => (await gateway.call(`/v1/videos/${id}`)).text(), { timeout: 60_000 })
    .toContain('"completed"');
  const operator = await createOperatorClient(gateway, 'read');
  const { body } = await operator.get('/models/revenue');
  const models = body['models'] as Record<string, string | null>[];
  expect(models).toMatchObject([
    { model: 'drawn', income_usd: '0.04', cost_usd: '0.03', margin_usd: '0.01' },
    { model: 'filmed', income_usd: '0.08', cost_usd: '0.02', margin_usd: '0.06' },
    { model: 'known', uncosted: 0 },
    { model: 'unknown', done: 1, uncosted: 1, cost_usd: null, margin_usd: null },
  ]);
  const known = models[2];
  expect(known?.['cost_usd']).toBe(known?.['margin_usd']);
  expect(Number(known?.['income_usd'])).toBeCloseTo(2 * Number(known?.['cost_usd']), 9);
});

it('a cost in the units of another kind stops the start, and the line says which are right', () => {
  const wrong = yaml.replace(
    'cost: { unit: call',
    'cost: { unit: token, input_usd_per_1m: "1", output_usd_per_1m: "1" } }] #',
  );
  expect(() => readConfig({}, wrong)).toThrow(
    'causeway.yaml: models.drawn.routes: the unit of a cost must be call',
  );
});

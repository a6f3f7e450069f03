import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openRealSales } from '../../src/accounts/catalog/catalog.ts';
import { accountNotices } from '../../src/gateway/start-notices.ts';
import { openAccount } from '../mcp/open-account.ts';
import { startStubUpstream, type StubUpstream } from '../providers/stub-upstream.ts';
import { connectAssistant, read, tool, type Body } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let upstream: StubUpstream;
let dataDir: string;
beforeAll(async () => {
  upstream = await startStubUpstream();
});
afterAll(() => upstream.close());
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'causeway-credit-'));
  // After the gateways of the test have stopped.
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
});

const image = (provider: string): string =>
  `{ kind: image, price: { unit: call, price_usd: "0.04" }, routes: [{ provider: ${provider} }] }`;

/** A gateway on the data of this test that sells images under these names, by the sandbox or by the upstream. */
const start = async (
  models: Record<string, 'sandbox' | 'up'>,
  settings: Record<string, string> = {},
): Promise<TestGateway> => {
  const lines = Object.entries(models).map(([sku, provider]) => `  ${sku}: ${image(provider)}`);
  return startTestGateway({
    environment: { DATA_DIR: dataDir, DRAIN_MS: '0', ...settings },
    yaml: `providers: { up: { type: openai, base_url: "${upstream.baseUrl}" } }\nmodels:\n${lines.join('\n')}\n`,
  });
};

const modelsOf = async (gateway: TestGateway, apiKey: string): Promise<unknown[]> =>
  ((await read(gateway, '/v1/models', apiKey))['data'] as Body[]).map(({ id }) => id);

/** What becomes of an image of a SKU: its status, or the code of the refusal, over REST and over MCP. */
const buy = async (gateway: TestGateway, apiKey: string, model: string): Promise<unknown[]> => {
  const body = { model, prompt: 'a lighthouse' };
  const overRest = await (await gateway.call('/v1/images/generations', { apiKey, body })).json();
  const assistant = await connectAssistant(gateway, apiKey);
  const overMcp = await tool(assistant, 'create_image', body);
  await assistant.close();
  return [overRest as Body, overMcp].map(
    ({ status, error }) => (error as { code: string } | null)?.code ?? status,
  );
};

const done = ['done', 'done'];
const unknown = ['model_not_found', 'model_not_found'];

describe('where real models are on sale', () => {
  it('sandbox models are sold to sandbox accounts alone, and real models to the others alone', async () => {
    const gateway = await start({ drawn: 'sandbox', made: 'up' });
    onTestFinished(() => gateway.stop());
    upstream.setDefault({ kind: 'images', images: [{ b64_json: onePixel }] });
    const trial = await openAccount(gateway.services, { isSandbox: true });
    const customer = await openAccount(gateway.services);
    expect(await modelsOf(gateway, trial.apiKey)).toEqual(['drawn']);
    expect(await modelsOf(gateway, customer.apiKey)).toEqual(['made']);
    expect(await buy(gateway, trial.apiKey, 'drawn')).toEqual(done);
    expect(await buy(gateway, trial.apiKey, 'made')).toEqual(unknown);
    expect(await buy(gateway, customer.apiKey, 'drawn')).toEqual(unknown);
    expect(await buy(gateway, customer.apiKey, 'made')).toEqual(done);
  });
});

it('the start says who can buy the sandbox models, and that nobody can buy the real ones yet', async () => {
  const gateway = await start({ drawn: 'sandbox', made: 'up' });
  onTestFinished(() => gateway.stop());
  await openAccount(gateway.services, { isSandbox: true });
  expect(gateway.services.notices().join('\n')).toContain('for sandbox accounts only');
  expect(await accountNotices(gateway.services)).toEqual([
    expect.stringContaining('no account yet that can buy real models'),
  ]);
  await openAccount(gateway.services);
  expect(await accountNotices(gateway.services)).toEqual([]);
});

describe('the sandbox, where it alone is on sale,', () => {
  it('may be used by every account while no real model ever was', async () => {
    const gateway = await start({ drawn: 'sandbox' });
    onTestFinished(() => gateway.stop());
    const { apiKey } = await openAccount(gateway.services);
    expect(await buy(gateway, apiKey, 'drawn')).toEqual(done);
    expect(await buy(gateway, gateway.apiKey, 'drawn')).toEqual(done);
  });

  it('is for sandbox accounts alone soon after another gateway on the store begins to sell real models', async () => {
    const gateway = await start({ drawn: 'sandbox' });
    onTestFinished(() => gateway.stop());
    const customer = await openAccount(gateway.services);
    const trial = await openAccount(gateway.services, { isSandbox: true });
    expect(await buy(gateway, customer.apiKey, 'drawn')).toEqual(done);
    await openRealSales(gateway.services.store, true);
    await expect.poll(() => modelsOf(gateway, customer.apiKey), { timeout: 60_000 }).toEqual([]);
    expect(await buy(gateway, customer.apiKey, 'drawn')).toEqual(unknown);
    expect(await buy(gateway, trial.apiKey, 'drawn')).toEqual(done);
  });

  it('is for sandbox accounts alone after real models were taken out of sale', async () => {
    const before = await start({ drawn: 'up' });
    const customer = await openAccount(before.services);
    await before.stop();
    const gateway = await start({ drawn: 'sandbox' });
    onTestFinished(() => gateway.stop());
    expect(await modelsOf(gateway, customer.apiKey)).toEqual([]);
    expect(await buy(gateway, customer.apiKey, 'drawn')).toEqual(unknown);
    expect(await read(gateway, '/v1/balance', customer.apiKey)).toMatchObject({ balance_usd: '10.00' });
    const trial = await openAccount(gateway.services, { isSandbox: true });
    expect(await buy(gateway, trial.apiKey, 'drawn')).toEqual(done);
  });
});

it('a job that waited while its model changed to the sandbox fails uncharged', async () => {
  upstream.setDefault({ kind: 'silence' });
  const before = await start({ drawn: 'up' });
  const { apiKey } = await openAccount(before.services);
  const body = { model: 'drawn', prompt: 'a lighthouse' };
  const queued = await before.call('/v1/images/generations?async=true', { apiKey, body });
  const { id } = (await queued.json()) as { id: string };
  await before.stop();
  const gateway = await start({ drawn: 'sandbox' });
  onTestFinished(() => gateway.stop());
  const assistant = await connectAssistant(gateway, apiKey);
  onTestFinished(() => assistant.close());
  expect(await tool(assistant, 'get_job', { job_id: id, wait_ms: 45_000 })).toMatchObject({
    status: 'failed',
    error: { code: 'upstream_unavailable' },
    usage: { cost_usd: '0.00' },
  });
  expect(await read(gateway, '/v1/balance', apiKey)).toMatchObject({ balance_usd: '10.00' });
});

it('a job that waited while another gateway on the store began to sell real models fails uncharged', async () => {
  const gateway = await start({ drawn: 'sandbox' }, { QUEUED_JOBS_AT_ONCE: '1' });
  onTestFinished(() => gateway.stop());
  const { apiKey } = await openAccount(gateway.services);
  const ids: string[] = [];
  for (const prompt of ['[sandbox:slow=8]', 'a lighthouse']) {
    const body = { model: 'drawn', prompt };
    const queued = await gateway.call('/v1/images/generations?async=true', { apiKey, body });
    ids.push(((await queued.json()) as { id: string }).id);
  }
  await openRealSales(gateway.services.store, true);
  const assistant = await connectAssistant(gateway, apiKey);
  onTestFinished(() => assistant.close());
  const [running, waiting] = ids;
  expect(await tool(assistant, 'get_job', { job_id: running, wait_ms: 45_000 })).toMatchObject({
    status: 'done',
  });
  expect(await tool(assistant, 'get_job', { job_id: waiting, wait_ms: 45_000 })).toMatchObject({
    status: 'failed',
    error: { code: 'upstream_unavailable' },
    usage: { cost_usd: '0.00' },
  });
});

const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import { openJob, opening, queuedJob, worker } from '../store/builders.ts';
import { startStubVideoUpstream, type StubVideoUpstream } from '../providers/video/stub-video-upstream.ts';
import type { NewJob } from '../../src/store/store.ts';
import { connectAssistant, page, read } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let upstream: StubVideoUpstream;
let gateway: TestGateway;
let [apiKey, accountId, keyId] = ['', '', ''];

const film = { model: 'videomodel-2.0', prompt: 'A harbour at dawn', duration: 4, resolution: '480p' };
const image = { model: 'imagemodel-1.0', prompt: 'A harbour at dawn' };

beforeEach(async () => {
  upstream = await startStubVideoUpstream();
  const busy = { status: 429, headers: { 'retry-after': '40' }, body: { error: { message: 'busy' } } };
  for (const path of ['/api/v3/contents/generations/tasks', '/v1/images/generations', '/v1/chat/completions'])
    upstream.reply(`POST ${path}`, { kind: 'json', ...busy });
  gateway = await startTestGateway({
    environment: { UPSTREAM_KEY: 'upstream-secret' },
    yaml: `
providers:
  ark: { type: modelark, base_url: "${upstream.origin}", api_key_env: UPSTREAM_KEY }
  up: { type: openai, base_url: "${upstream.origin}/v1", api_key_env: UPSTREAM_KEY }
models:
  videomodel-2.0:
    kind: video
    price: { unit: second, rates: [{ resolution: 480p, price_usd: "0.02" }] }
    duration: { min_seconds: 4, max_seconds: 15, default_seconds: 5 }
    routes: [{ provider: ark, model: upstream-name }]
  imagemodel-1.0:
    kind: image
    price: { unit: call, price_usd: "0.04" }
    routes: [{ provider: up, model: upstream-name }]
  textmodel-3.5-flash:
    kind: chat
    price: { unit: call, price_usd: "0.04" }
    routes: [{ provider: up, model: upstream-text }]
`,
  });
  ({ apiKey, accountId, keyId } = await openAccount(gateway.services));
});
afterEach(async () => {
  await gateway.stop();
  await upstream.close();
});

/** Makes a video fail. Returns its id. */
const failFilm = async (): Promise<string> => {
  const refusal = { status: 400, body: { error: { message: 'no' } } };
  upstream.reply('POST /api/v3/contents/generations/tasks', { kind: 'json', ...refusal });
  const answer = await gateway.call('/v1/videos', { apiKey, body: film });
  const { id } = (await answer.json()) as { id: string };
  await vi.waitFor(
    async () => {
      expect(await read(gateway, `/v1/videos/${id}`, apiKey)).toMatchObject({
        status: 'failed',
        usage: { billed_seconds: 0, cost_usd: '0.00' },
      });
    },
    { timeout: 60_000, interval: 50 },
  );
  return id;
};

describe('while no route can take it', () => {
  it.each([
    ['a video', 'create_video', '/v1/videos', film, {}],
    ['an asynchronous image', 'create_image', '/v1/images/generations?async=true', image, { async: true }],
  ])(
    '%s is refused with 503 and the time to come again, over REST and MCP',
    async (_what, name, path, body, more) => {
      const send = (idempotencyKey: string): Promise<Response> =>
        gateway.call(path, { apiKey, body, headers: { 'idempotency-key': idempotencyKey } });
      const first = await send('first');
      expect(first.status).toBe(202);
      const job = (await first.json()) as { id: string };
      // It learns there that the upstream wants no calls for a while.
      await vi.waitFor(
        async () => {
          expect(gateway.services.providers.runnable().skus).not.toContain(body.model);
          expect(await read(gateway, `/v1/jobs/${job.id}`, apiKey)).toMatchObject({ status: 'queued' });
        },
        { timeout: 60_000, interval: 50 },
      );
      const balance = await read(gateway, '/v1/balance', apiKey);

      const refused = await send('second');
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(40);
      const envelope = await refused.json();
      expect(envelope).toMatchObject({ error: { type: 'server_error', code: 'upstream_unavailable' } });
      // What was accepted before is still answered.
      expect((await send('first')).headers.get('idempotent-replayed')).toBe('true');

      const assistant = await connectAssistant(gateway, apiKey);
      onTestFinished(() => assistant.close());
      const result = await assistant.callTool({ name, arguments: { ...body, ...more } });
      expect(result).toMatchObject({ isError: true, structuredContent: envelope });
      expect((await page(gateway, '/v1/jobs', apiKey)).data).toHaveLength(1);
      expect(await read(gateway, '/v1/balance', apiKey)).toEqual(balance);
    },
  );
});

it('a chat is refused with the time that the upstream asks for, and then with what is left of it', async () => {
  const body = { messages: [{ role: 'user', content: 'Hello' }] };
  for (const [status, stream] of [
    [429, false],
    [503, false],
    [503, true],
  ]) {
    const refused = await gateway.call('/v1/chat/completions', { apiKey, body: { ...body, stream } });
    expect(refused.status).toBe(status);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(10);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(40);
  }
});

it('a job of a SKU or a provider that only another gateway has waits for that one', async () => {
  const { services } = gateway;
  const now = services.clock.now();
  const add = (kind: 'image' | 'video', model: string, changes: Partial<NewJob> = {}): Promise<string> => {
    const job = queuedJob({ accountId, keyId }, { kind, model, deadlineAt: now + 3_600_000, ...changes });
    return openJob(services.store, opening(job, { now }));
  };
  const leased = { status: 'running', leaseOwner: worker, leaseUntil: now + 60_000 } as const;
  const begun = await add('video', film.model, leased);
  const providerTask = JSON.stringify({ state: 'started', provider: 'of-another', model: 'x', task: 'x' });
  await services.store.recordProgress({ id: begun, owner: worker, providerTask });
  await services.store.releaseJobs({ owner: worker, ids: [begun] });
  const theirs = [begun, await add('image', 'image-of-another'), await add('video', 'video-of-another')];
  await failFilm();
  for (const id of theirs)
    expect(await read(gateway, `/v1/jobs/${id}`, apiKey)).toMatchObject({ status: 'queued' });
});

it('a video that failed has no billed seconds', async () => {
  const id = await failFilm();
  const assistant = await connectAssistant(gateway, apiKey);
  onTestFinished(() => assistant.close());
  expect(await assistant.callTool({ name: 'get_video', arguments: { video_id: id } })).toMatchObject({
    structuredContent: { usage: { billed_seconds: 0 } },
  });
});

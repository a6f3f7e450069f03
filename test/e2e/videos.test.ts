import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { measureVideo } from '../../src/providers/video/measure-video.ts';
import { dataUri, makeImage } from '../media/input-images.ts';
import { listenOnLoopback } from '../mcp/listen-on-loopback.ts';
import { connectAssistant, openCustomer, page, read, refusal, tool, type Body } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';
import { bytesOf, film, unmade, videoCalls } from './video-calls.ts';

let gateway: TestGateway;
/** Of the account whose film the tests look at. */
let apiKey: string;

beforeAll(async () => {
  gateway = await startTestGateway({
    environment: { ALLOW_LOOPBACK_URLS: 'true', REQUESTS_PER_MINUTE: '100000' },
  });
  ({ apiKey } = await openCustomer(gateway));
});
afterAll(() => gateway.stop());

const { post, create, whenEnded, content, historyOf } = videoCalls(() => ({ gateway, apiKey }));

describe('a video', () => {
  it('is admitted under a hold, told of until it is completed, and charged then', async () => {
    const customer = await openCustomer(gateway);
    const answer = await post(
      { ...film, prompt: 'A harbour [sandbox:slow=1]', seed: 7, ratio: '1:1', generate_audio: false },
      { apiKey: customer.apiKey },
    );
    expect(answer.status).toBe(202);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const queued = (await answer.json()) as Body;
    const shape = {
      object: 'video',
      model: 'videomodel-2.0',
      duration: 4,
      resolution: '480p',
      ratio: '1:1',
      generate_audio: false,
      output_format: 'mp4',
      has_last_frame: false,
      error: null,
    };
    expect(queued).toEqual({
      ...shape,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 'queued',
      progress: 0,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      completed_at: null,
      expires_at: null,
      film_url: null,
      usage: { billed_seconds: 4, balance_remaining_usd: '9.92' },
    });
    expect(await historyOf(queued, customer.apiKey)).toMatchObject({
      kind: 'video',
      billing_status: 'pending',
      charged_usd: '0.00',
    });
    const video = await whenEnded(queued, customer.apiKey);
    expect(video).toMatchObject({
      ...shape,
      status: 'completed',
      progress: 100,
      usage: { cost_usd: '0.08', billed_seconds: 4, balance_remaining_usd: '9.92' },
      metadata: { sandbox: true },
    });
    const [completedAt, expiresAt] = [video['completed_at'], video['expires_at']].map(String);
    expect(Date.parse(expiresAt ?? '') - Date.parse(completedAt ?? '')).toBe(23 * 3_600_000);
    expect(await historyOf(video, customer.apiKey)).toMatchObject({
      status: 'done',
      billing_status: 'charged',
      charged_usd: '0.08',
      net_spent_usd: '0.08',
      error: null,
    });
    expect(await read(gateway, `/v1/jobs/${String(video['id'])}`, customer.apiKey)).toMatchObject({
      status: 'done',
      model: 'videomodel-2.0',
    });
    expect(await page(gateway, '/v1/transactions', customer.apiKey)).toMatchObject({
      data: [{ type: 'debit', amount_usd: '-0.08', job_id: video['id'] }, { type: 'topup' }],
    });
  });

  it('is made over MCP from images by address and by data URI, and waited for with progress', async () => {
    const blue = await makeImage('jpeg', { width: 30, height: 40, colour: '#0000ff' });
    const site = await listenOnLoopback(createServer((_request, response) => response.end(blue)));
    onTestFinished(() => site.close());
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    const queued = await tool(assistant, 'create_video', {
      ...film,
      prompt: 'A harbour [sandbox:slow=6]',
      image_url: `${site.url}/first.jpg`,
      last_frame_image_url: dataUri('image/png', await makeImage('png')),
      output_format: 'mov',
    });
    expect(queued).toMatchObject({ status: 'queued', ratio: 'adaptive', output_format: 'mov' });
    const heard: string[] = [];
    const ended = await assistant.callTool(
      { name: 'get_video', arguments: { video_id: queued['id'], wait_ms: 45_000 } },
      undefined,
      { onprogress: ({ message }) => heard.push(message ?? '') },
    );
    expect(heard).toContainEqual(expect.stringContaining(String(queued['id'])));
    const url = `${gateway.url}/v1/videos/${String(queued['id'])}/content`;
    expect(ended).toMatchObject({
      structuredContent: { status: 'completed', has_last_frame: false },
      content: [
        { type: 'text' },
        {
          type: 'resource_link',
          uri: gateway.services.films.urlOf(String(queued['id'])),
          mimeType: 'video/quicktime',
        },
      ],
    });
    const where = await tool(assistant, 'get_video_content', { video_id: queued['id'] });
    expect(where).toMatchObject({ url, content_type: 'video/quicktime' });
    const answer = await content(queued);
    expect(answer.headers.get('content-type')).toBe('video/quicktime');
    expect(answer.headers.get('content-disposition')).toContain('.mov"');
    const bytes = await bytesOf(answer);
    expect(bytes.length).toBe(where['size_bytes']);
    expect(await measureVideo(bytes)).toEqual({ seconds: 4, width: 480, height: 640 });
    expect(await refusal(await content(queued, { query: '?variant=last_frame' }))).toMatchObject({
      status: 404,
      code: 'video_not_found',
    });
  });

  it('has the custom data as the text that was sent, wherever it is read', async () => {
    const data = '{"b": 1.0, "2":12345678901234567890, "1":[], "b":"ü", "c":2.50}';
    const send = (text: string) =>
      gateway.call('/v1/videos', {
        apiKey,
        headers: { 'idempotency-key': 'custom' },
        body: `${JSON.stringify(unmade).slice(0, -1)},"custom_data":${text}}`,
      });
    const created = await (await send(data)).text();
    const { id } = JSON.parse(created) as Body;
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    const overMcp = await assistant.callTool({ name: 'get_video', arguments: { video_id: id } });
    for (const text of [
      created,
      await (await send(data)).text(),
      await (await gateway.call(`/v1/videos/${String(id)}`, { apiKey })).text(),
      await (await gateway.call(`/v1/jobs/${String(id)}`, { apiKey })).text(),
      (overMcp.content as { text: string }[])[0]?.text,
    ])
      expect(text).toContain(`"custom_data":${data},`);
    expect((await send('{"b":2}')).status).toBe(409);
    expect((await send(data.replace('2.50', '2.5'))).headers.get('idempotent-replayed')).toBe('true');
    expect((await send(data.replace('567890', '567891'))).status).toBe(409);
    expect((await send(data.replace('2.50', '{"rawJSON":"2.50"}'))).status).toBe(409);
    for (const refused of ['[]', '"{}"', 'null', `{"a":"${'y'.repeat(4_089)}"}`])
      expect(await refusal(await send(refused))).toEqual({
        status: 422,
        code: 'invalid_parameter',
        param: 'custom_data',
      });
    const sent = { order: 7 };
    expect(await tool(assistant, 'create_video', { ...unmade, custom_data: sent })).toMatchObject({
      custom_data: sent,
    });
    expect(await tool(assistant, 'create_video', { ...unmade, custom_data: [] })).toMatchObject({
      error: { param: 'custom_data' },
    });
  });

  it.each([
    ['[sandbox:moderated]', 'content_policy_violation', 'The sandbox refused this prompt'],
    ['[sandbox:fail]', 'upstream_error', 'It was not charged.'],
    ['[sandbox:rate_limit]', 'rate_limit_exceeded', 'Nothing was charged.'],
  ])('with %s fails with %s, at no charge', async (prompt, code, text) => {
    const customer = await openCustomer(gateway);
    const queued = await create({ ...film, prompt, nsfw_check: true }, customer.apiKey);
    expect(await whenEnded(queued, customer.apiKey)).toMatchObject({
      status: 'failed',
      completed_at: null,
      expires_at: null,
      error: { code, message: expect.stringContaining(text) },
      usage: { cost_usd: '0.00', balance_remaining_usd: '10.00' },
    });
    expect(await historyOf(queued, customer.apiKey)).toMatchObject({
      billing_status: 'not_charged',
      error: { code },
    });
    expect(await refusal(await content(queued, { key: customer.apiKey }))).toMatchObject({
      status: 409,
      code: 'video_not_completed',
    });
  });

  it('is one of five that an account may have under way, and has no content until it is completed', async () => {
    const customer = await openCustomer(gateway);
    const stalled = { ...film, prompt: '[sandbox:stall]' };
    const answers = await Promise.all(
      Array.from({ length: 7 }, () => post(stalled, { apiKey: customer.apiKey })),
    );
    const [admitted, refused] = [202, 429].map((status) =>
      answers.filter((answer) => answer.status === status),
    );
    expect([admitted?.length, refused?.length]).toEqual([5, 2]);
    for (const answer of refused ?? []) {
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await answer.json()).toMatchObject({
        error: { type: 'rate_limit_exceeded', code: 'too_many_active_jobs' },
      });
    }
    expect(await read(gateway, '/v1/balance', customer.apiKey)).toMatchObject({ balance_usd: '9.60' });
    const early = await content((await admitted?.[0]?.json()) as Body, { key: customer.apiKey });
    expect(early.headers.get('x-should-retry')).toBe('false');
    expect(await refusal(early)).toMatchObject({ status: 409, code: 'video_not_completed' });
    expect((await create(unmade))['status']).toBe('queued');
  });
});

describe('the same request under one Idempotency-Key', () => {
  it('is answered with its video though the account’s SKUs have changed since', async () => {
    const { accountId, apiKey: key } = await openCustomer(gateway);
    const headers = { 'idempotency-key': 'film-1' };
    const { id } = (await (await post(unmade, { apiKey: key, headers })).json()) as Body;
    await gateway.services.store.setAccountTerms({
      id: accountId,
      terms: JSON.stringify({ models: ['imagemodel-1.0'] }),
    });
    expect(await refusal(await post(unmade, { apiKey: key }))).toMatchObject({ code: 'model_not_found' });
    expect(await (await post(unmade, { apiKey: key, headers })).json()).toMatchObject({ id });
  });

  it('is one video, also when it has failed, over REST and over MCP, and another one is refused', async () => {
    const headers = { 'idempotency-key': 'film-1' };
    const first = await post(unmade, { headers });
    expect(first.headers.has('idempotent-replayed')).toBe(false);
    const { id } = (await first.json()) as Body;
    expect(await whenEnded({ id })).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } });
    const again = await post(unmade, { headers });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true']);
    expect(await again.json()).toMatchObject({ id });
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    expect(await tool(assistant, 'create_video', { ...unmade, idempotency_key: 'film-1' })).toMatchObject({
      id,
    });
    const other = await post({ ...unmade, duration: 99 }, { headers });
    expect(other.headers.get('x-should-retry')).toBe('false');
    expect(await refusal(other)).toMatchObject({ status: 409, code: 'idempotency_conflict' });
  });
});

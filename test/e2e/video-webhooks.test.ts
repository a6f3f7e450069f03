import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { videoEvent } from '../../src/operations/videos/video-examples.ts';
import { openAccount } from '../mcp/open-account.ts';
import { startReceiver, type Delivery } from '../jobs/webhooks/start-receiver.ts';
import { connectAssistant, read, refusal, tool, type Body } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
let apiKey: string;

beforeAll(async () => {
  gateway = await startTestGateway({
    environment: { ALLOW_LOOPBACK_URLS: 'true', VIDEO_WEBHOOKS: 'on' },
  });
  ({ apiKey } = await openAccount(gateway.services, { isSandbox: true }));
});
afterAll(() => gateway.stop());

const film = { model: 'videomodel-2.0', prompt: 'A harbour', duration: 4, resolution: '480p' };

const receive = async () => {
  const secret = String((await read(gateway, '/v1/balance', apiKey))['webhook_secret']);
  return startReceiver({ secret: () => secret, now: Date.now });
};

const whenDelivered = (deliveries: Delivery[]): Promise<Delivery> =>
  vi.waitFor(
    () => {
      const [delivery] = deliveries;
      if (delivery === undefined) throw new Error('not yet');
      return delivery;
    },
    { timeout: 60_000, interval: 20 },
  );

describe('the callback of a video job, where the operator takes it', () => {
  it.each([
    ['completed', 'A harbour', { has_last_frame: false, error: null }],
    ['failed', '[sandbox:fail]', { error: { code: 'upstream_error' } }],
  ])('that is %s tells the video without amounts, signed', async (status, prompt, expected) => {
    const receiver = await receive();
    const body = { ...film, prompt, custom_data: { order: 7 }, webhook_url: `${receiver.url}?token=hidden` };
    const created = await gateway.call('/v1/videos', { apiKey, body });
    expect(created.status).toBe(202);
    const { id } = (await created.json()) as Body;
    const { raw, isGenuine, headers } = await whenDelivered(receiver.deliveries);
    expect(isGenuine).toBe(true);
    const event = JSON.parse(raw.toString()) as Body;
    const {
      usage: _usage,
      film_url: _filmUrl,
      ...video
    } = await read(gateway, `/v1/videos/${String(id)}`, apiKey);
    expect(event).toEqual({ event_id: headers['webhook-id'], ...video });
    expect(event).toMatchObject({ id, object: 'video', status, custom_data: { order: 7 }, ...expected });
    expect(videoEvent.schema.safeParse(event).success).toBe(true);
    expect(raw.toString()).not.toMatch(/hidden|harbour/i);
  });

  it('is asked for over MCP in the same way', async () => {
    const receiver = await receive();
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    const input = { ...film, prompt: '[sandbox:fail]', webhook_url: receiver.url };
    const { id } = await tool(assistant, 'create_video', input);
    const { raw } = await whenDelivered(receiver.deliveries);
    expect(JSON.parse(raw.toString())).toMatchObject({ id, status: 'failed' });
  });

  it('is refused at an address that is not public', async () => {
    const cautious = await startTestGateway({ environment: { VIDEO_WEBHOOKS: 'on' } });
    onTestFinished(() => cautious.stop());
    for (const webhook_url of ['http://hooks.example.com/', 'https://10.1.2.3/', '']) {
      const body = { ...film, webhook_url };
      expect(await refusal(await cautious.call('/v1/videos', { body }))).toEqual({
        status: 422,
        code: 'invalid_parameter',
        param: 'webhook_url',
      });
    }
  });

  it('is in the interface description and the tool list only there', async () => {
    const without = await startTestGateway();
    onTestFinished(() => without.stop());
    for (const [where, isTaken] of [
      [gateway, true],
      [without, false],
    ] as const) {
      const { webhooks } = (await (await where.call('/openapi.json')).json()) as { webhooks: Body };
      expect(Object.hasOwn(webhooks, 'video_job_ended')).toBe(isTaken);
      const assistant = await connectAssistant(where, where.apiKey);
      onTestFinished(() => assistant.close());
      const { tools } = await assistant.listTools();
      const properties = tools.find(({ name }) => name === 'create_video')?.inputSchema.properties ?? {};
      expect(Object.hasOwn(properties, 'webhook_url')).toBe(isTaken);
    }
  });

  it('is never taken by a chat', async () => {
    const body = {
      messages: [{ role: 'user', content: 'x' }],
      webhook_url: 'https://hooks.example.com/',
    };
    expect(await refusal(await gateway.call('/v1/chat/completions', { apiKey, body }))).toEqual({
      status: 422,
      code: 'invalid_parameter',
      param: 'webhook_url',
    });
  });
});

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import { startReceiver, type Receiver, type ReceiverOptions } from '../jobs/webhooks/start-receiver.ts';
import { verifyByContract } from '../jobs/webhooks/verify-by-contract.ts';
import { image, page, read, refusal, type Body } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ environment: { ALLOW_LOOPBACK_URLS: 'true' } });
});
afterAll(() => gateway.stop());

const open = async (options: Partial<ReceiverOptions> = {}) => {
  const { apiKey } = await openAccount(gateway.services);
  const secret = String((await read(gateway, '/v1/balance', apiKey))['webhook_secret']);
  const receiver = await startReceiver({ secret: () => secret, now: Date.now, ...options });
  return { apiKey, secret, receiver };
};
const list = async (apiKey: string): Promise<Body[]> =>
  (await page(gateway, '/v1/webhooks/deliveries', apiKey)).data;
const post = (path: string, apiKey: string, body?: Body): Promise<Response> =>
  gateway.call(`/v1/webhooks/${path}`, { apiKey, method: 'POST', ...(body === undefined ? {} : { body }) });
const redeliver = (apiKey: string, { event_id: id }: Body): Promise<Response> =>
  post(`deliveries/${String(id)}/redeliver`, apiKey);
const received = (receiver: Receiver, count: number): Promise<void> =>
  vi.waitFor(() => expect(receiver.deliveries).toHaveLength(count), { timeout: 30_000, interval: 20 });
const untilListed = (apiKey: string, expected: Body[]): Promise<void> =>
  vi.waitFor(async () => expect(await list(apiKey)).toMatchObject(expected), {
    timeout: 30_000,
    interval: 50,
  });

describe('the webhooks of an account', () => {
  it('are listed with how their delivery went, in plain words, page by page', async () => {
    const { apiKey, receiver } = await open({ react: (_delivery, index) => (index === 0 ? 500 : 204) });
    const draw = { ...image, webhook_url: `${receiver.url}?token=hidden` };
    const made = await gateway.call('/v1/images/generations?async=true', { apiKey, body: draw });
    const { id: jobId } = (await made.json()) as Body;
    const failed = { last_status: 500, last_error: 'The receiver answered 500.' };
    await untilListed(apiKey, [{ state: 'pending', attempts: 1, ...failed }]);
    const [event] = await list(apiKey);
    expect(event).toEqual({
      event_id: receiver.deliveries[0]?.eventId,
      event: 'job.finished',
      job_id: jobId,
      state: 'pending',
      attempts: 1,
      next_attempt_at: expect.any(String),
      created_at: expect.any(String),
      updated_at: expect.any(String),
      target: new URL(receiver.url).origin,
      ...failed,
    });
    expect((await post('test', apiKey, { url: receiver.url })).status).toBe(200);
    const first = await page(gateway, '/v1/webhooks/deliveries?limit=1', apiKey);
    const rest = await page(
      gateway,
      `/v1/webhooks/deliveries?limit=1&cursor=${String(first.next_cursor)}`,
      apiKey,
    );
    expect([...first.data, ...rest.data].map(({ event: name }) => name)).toEqual([
      'webhook.test',
      'job.finished',
    ]);
  });

  it('are sent again with the same body, and only to the account that they are of', async () => {
    const { apiKey, receiver } = await open();
    await post('test', apiKey, { url: receiver.url });
    await received(receiver, 1);
    await untilListed(apiKey, [{ state: 'delivered', attempts: 1, last_status: 204, last_error: null }]);
    const [event] = (await list(apiKey)) as [Body];
    const again = await redeliver(apiKey, event);
    expect(await again.json()).toMatchObject({ state: 'pending', attempts: 0, job_id: null });
    await received(receiver, 2);
    expect(receiver.deliveries[1]?.raw).toEqual(receiver.deliveries[0]?.raw);
    const other = await open();
    expect(await refusal(await redeliver(other.apiKey, event))).toEqual({
      status: 404,
      code: 'not_found',
      param: 'event_id',
    });
    expect(await list(other.apiKey)).toEqual([]);
  });

  it('may be a test event, signed as every other', async () => {
    const { apiKey, receiver } = await open();
    const sent = (await (await post('test', apiKey, { url: receiver.url })).json()) as Body;
    expect(sent).toMatchObject({ event: 'webhook.test', job_id: null, state: 'pending', last_status: null });
    await received(receiver, 1);
    expect(receiver.deliveries[0]?.isGenuine).toBe(true);
    expect(JSON.parse(String(receiver.deliveries[0]?.raw))).toEqual({
      event_id: sent['event_id'],
      type: 'webhook.test',
      created_at: sent['created_at'],
    });
  });

  it('are sent once if they are a test event', async () => {
    const { apiKey, receiver } = await open({ react: () => 500 });
    await post('test', apiKey, { url: receiver.url });
    await untilListed(apiKey, [{ state: 'exhausted', attempts: 1, last_status: 500 }]);
    expect(receiver.deliveries).toHaveLength(1);
  });

  it('are sent by its calls at most ten times a minute', async () => {
    const { apiKey, receiver } = await open();
    const statuses = [];
    for (let call = 0; call < 11; call += 1)
      statuses.push((await post('test', apiKey, { url: receiver.url })).status);
    expect(statuses).toEqual([...Array<number>(10).fill(200), 429]);
    const [event] = (await list(apiKey)) as [Body];
    expect((await redeliver(apiKey, event)).status).toBe(429);
    expect(await list(apiKey)).toHaveLength(10);
  });

  it('are signed with the old and the new secret after a rotation, also after a repeated one', async () => {
    const { apiKey, secret: previous, receiver } = await open();
    const rotated = (await (await post('secret/rotate', apiKey)).json()) as Body;
    expect(await (await post('secret/rotate', apiKey)).json()).toEqual(rotated);
    const secret = String(rotated['webhook_secret']);
    expect(secret).not.toBe(previous);
    expect(Date.parse(String(rotated['previous_signs_until']))).toBeGreaterThan(Date.now() + 86_000_000);
    expect((await read(gateway, '/v1/balance', apiKey))['webhook_secret']).toBe(secret);
    await post('test', apiKey, { url: receiver.url });
    await received(receiver, 1);
    const [delivery] = receiver.deliveries;
    for (const own of [previous, secret])
      expect(verifyByContract(delivery!, { secret: own, now: Date.now() })).toBe(true);
    const another = (await (await post('secret/rotate', apiKey, { again: true })).json()) as Body;
    expect(another['webhook_secret']).not.toBe(secret);
  });

  it('cannot be changed by a key with limits, which could read the secret or choose an address', async () => {
    const { apiKey, receiver } = await open();
    await post('test', apiKey, { url: receiver.url });
    const limits = { budget_day_usd: '1.00' };
    const made = await gateway.call('/v1/keys', { apiKey, body: limits });
    const { key } = (await made.json()) as { key: string };
    const [event] = (await list(key)) as [Body];
    for (const call of [
      redeliver(key, event),
      post('test', key, { url: receiver.url }),
      post('secret/rotate', key),
    ])
      expect(await refusal(await call)).toMatchObject({ status: 403, code: 'permission_denied' });
  });
});

describe('a test event', () => {
  it.each(['ftp://example.com/hook', 'https://10.0.0.1/hook', 'https://a:b@example.com/', 'nothing'])(
    'is not sent to %s',
    async (url) => {
      const { apiKey } = await openAccount(gateway.services);
      expect(await refusal(await post('test', apiKey, { url }))).toEqual({
        status: 422,
        code: 'invalid_parameter',
        param: 'url',
      });
    },
  );

  it('is refused while callbacks are switched off', async () => {
    const off = await startTestGateway({ environment: { WEBHOOKS: 'off' } });
    try {
      const response = await off.call('/v1/webhooks/test', { body: { url: 'https://example.com/hook' } });
      expect(await refusal(response)).toEqual({
        status: 503,
        code: 'webhook_temporarily_unavailable',
        param: 'url',
      });
    } finally {
      await off.stop();
    }
  });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startGatewayProcess } from '../../scripts/gateway-process.ts';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { openAccount } from '../mcp/open-account.ts';
import {
  startReceiver,
  type Delivery,
  type Receiver,
  type ReceiverOptions,
} from '../jobs/webhooks/start-receiver.ts';
import { verifyByContract } from '../jobs/webhooks/verify-by-contract.ts';
import { connectAssistant, image, read, refusal, tool, type Body } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';
import { layDataFolder } from '../data-template.ts';

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ environment: { ALLOW_LOOPBACK_URLS: 'true' } });
});
afterAll(() => gateway.stop());

const path = '/v1/images/generations?async=true';

const secretOf = async (apiKey = gateway.apiKey): Promise<string> =>
  String((await read(gateway, '/v1/balance', apiKey))['webhook_secret']);

/** A receiver of the account's, which is whoever the key belongs to. */
const receive = async (options: Partial<ReceiverOptions> = {}): Promise<Receiver> => {
  const secret = await secretOf();
  return startReceiver({ secret: () => secret, now: Date.now, ...options });
};

const make = async (body: Body, headers: Record<string, string> = {}): Promise<Body> => {
  const response = await gateway.call(path, { body: { ...image, ...body }, headers });
  expect(response.status).toBe(202);
  return (await response.json()) as Body;
};

const deliveryTo = (receiver: Receiver, index = 0): Promise<Delivery> =>
  vi.waitFor(
    () => {
      const delivery = receiver.deliveries[index];
      if (delivery === undefined) throw new Error('not yet');
      return delivery;
    },
    { timeout: 60_000, interval: 10 },
  );

const bodyOf = ({ raw }: Delivery): Body => JSON.parse(raw.toString('utf8')) as Body;

/** The operator's `causeway webhooks ... --json` on the store of a gateway. */
const operate = async (dataDir: string, ...args: string[]): Promise<Body> => {
  let stdout = '';
  const exitCode = await runCommandLine({
    args: ['webhooks', ...args, '--json'],
    environment: { DATA_DIR: dataDir },
    write: (text) => (stdout += text),
    writeError: () => undefined,
  });
  expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^\{/)]);
  return JSON.parse(stdout) as Body;
};

/** What the operator sees of a job's callback, once it is as expected. */
const untilSeen = (dataDir: string, jobId: unknown, expected: Body): Promise<void> =>
  expect
    .poll(() => operate(dataDir, 'list', '--job', String(jobId)), { interval: 200 })
    .toMatchObject({ webhooks: [expected] });

describe('the callback of an image job', () => {
  it.each([
    [
      'done',
      'a lighthouse',
      { status: 'done', error: null, data: [{ url: expect.stringMatching(/^http/), revised_prompt: null }] },
    ],
    [
      'failed',
      'x [sandbox:fail]',
      { status: 'failed', data: [], error: { type: 'server_error', code: 'upstream_error' } },
    ],
    [
      'moderated',
      'x [sandbox:moderated]',
      { status: 'failed', data: [], error: { code: 'content_policy_violation' } },
    ],
  ])('that is %s tells the frozen job, genuine to every kind of receiver', async (_end, prompt, expected) => {
    const receiver = await receive();
    const custom_data = { order: 7, who: 'Zoë 🎨' };
    const { id } = await make({ prompt, custom_data, webhook_url: `${receiver.url}?token=hidden` });
    const delivery = await deliveryTo(receiver);

    expect(delivery).toMatchObject({
      method: 'POST',
      isGenuine: true,
      headers: { 'content-type': 'application/json' },
    });
    const headers = delivery.headers as Record<string, string>;
    expect(new Webhook(await secretOf()).verify(delivery.raw, headers)).toEqual(bodyOf(delivery));

    const job = await read(gateway, `/v1/jobs/${String(id)}`);
    const { usage: _usage, metadata: _metadata, ...frozen } = job;
    expect(bodyOf(delivery)).toEqual({ event_id: headers['webhook-id'], ...frozen });
    expect(bodyOf(delivery)).toMatchObject({ id, custom_data, ...expected });
    expect(delivery.raw.toString()).not.toMatch(/hidden|lighthouse|sandbox:fail\b/);
  });

  it('has the custom data as the text that was sent', async () => {
    const receiver = await receive();
    const data = '{"b": 1.0, "2":12345678901234567890, "1":[], "b":"ü"}';
    const body = `{"model":"imagemodel-1.0","prompt":"x","webhook_url":"${receiver.url}","custom_data":${data}}`;
    expect((await gateway.call(path, { body })).status).toBe(202);
    const { raw, isGenuine } = await deliveryTo(receiver);
    expect([raw.toString(), isGenuine]).toEqual([expect.stringContaining(`"custom_data":${data},`), true]);
  });

  it('comes once, also when the request is repeated under its key', async () => {
    const receiver = await receive();
    const request = { webhook_url: receiver.url };
    const first = await make(request, { 'idempotency-key': 'once' });
    await deliveryTo(receiver);
    const again = await make(request, { 'idempotency-key': 'once' });
    expect(again['id']).toBe(first['id']);
    // Of two jobs that are made one after the other, the later one's callback is the second delivery.
    const { id } = await make(request);
    expect(bodyOf(await deliveryTo(receiver, 1))['id']).toBe(id);
  });

  it('is asked for over MCP in the same way, and a secret is made for an account that has none', async () => {
    const { apiKey, accountId } = await openAccount(gateway.services);
    const receiver = await receive({ secret: () => 'not known yet' });
    expect(await gateway.services.store.getWebhookSecrets(accountId)).toBeNull();
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    const job = await tool(assistant, 'create_image', { ...image, async: true, webhook_url: receiver.url });
    expect(job).toMatchObject({ status: 'queued' });
    const delivery = await deliveryTo(receiver);
    expect(bodyOf(delivery)).toMatchObject({ id: job['id'], status: 'done' });
    expect(verifyByContract(delivery, { secret: await secretOf(apiKey), now: Date.now() })).toBe(true);
  });

  it('cannot be asked for where the gateway waits for the result, or at an address that is not public', async () => {
    const cautious = await startTestGateway();
    onTestFinished(() => cautious.stop());
    for (const webhook_url of [
      'http://hooks.example.com/',
      'https://localhost/',
      'https://127.0.0.1/',
      'https://2130706433/',
      'https://[::1]/',
      'https://[::ffff:10.0.0.1]/',
      'https://10.1.2.3/',
      'https://169.254.169.254/latest/meta-data',
      'https://10.1.2.3:8443/',
      'https://user:secret@hooks.example.com/',
      `https://hooks.example.com/${'x'.repeat(2_048)}`,
      'hooks.example.com',
      '',
    ]) {
      const response = await cautious.call(path, { body: { ...image, webhook_url } });
      expect([webhook_url, await refusal(response)]).toEqual([
        webhook_url,
        { status: 422, code: 'invalid_parameter', param: 'webhook_url' },
      ]);
    }
    expect(await read(cautious, '/v1/balance')).toMatchObject({ balance_usd: '25.00' });
  });

  it('may be asked for on any port of a public host', async () => {
    const cautious = await startTestGateway();
    onTestFinished(() => cautious.stop());
    const body = { ...image, webhook_url: 'https://hooks.invalid:8443/' };
    expect((await cautious.call(path, { body })).status).toBe(202);
  });

  it('cannot be asked for where it is switched off, which says when to come again', async () => {
    const without = await startTestGateway({ environment: { WEBHOOKS: 'off' } });
    onTestFinished(() => without.stop());
    const body = { ...image, webhook_url: 'https://hooks.example.com/', custom_data: { a: 1 } };
    const response = await without.call(path, { body });
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await response.json()).toEqual({
      error: {
        type: 'server_error',
        code: 'webhook_temporarily_unavailable',
        message: expect.stringContaining('GET /v1/jobs/{id}'),
        param: 'webhook_url',
      },
    });
    expect(response.status).toBe(503);
    expect((await without.call(path, { body: { ...image, custom_data: { a: 1 } } })).status).toBe(202);
  });
});

describe('an operator', () => {
  it('sees a callback that its receiver refused for good, and sends it again, signed by both secrets of a rotation', async () => {
    const { dataDir } = gateway.services.config;
    const receiver = await receive({ react: (_delivery, index) => (index === 0 ? 410 : 204) });
    const { id } = await make({ webhook_url: receiver.url });
    const first = await deliveryTo(receiver);
    await untilSeen(dataDir, id, {
      event_id: first.eventId,
      state: 'stopped',
      attempts: 1,
      url: receiver.url,
    });
    expect(await operate(dataDir, 'show', first.eventId)).toMatchObject({
      attempts: [{ http_status: 410, failure: 'http_410' }],
    });

    const before = await secretOf();
    const [account] = await gateway.services.store.listAccounts({ limit: 1 });
    const rotated = await operate(dataDir, 'rotate-secret', account?.id ?? '');
    const hours = (Date.parse(String(rotated['previous_signs_until'])) - Date.now()) / 3_600_000;
    expect(hours).toBeCloseTo(24, 0);
    const after = await secretOf();
    expect(after).not.toBe(before);

    await operate(dataDir, 'redeliver', first.eventId);
    const second = await deliveryTo(receiver, 1);
    expect(second.raw.equals(first.raw)).toBe(true);
    expect(second.eventId).toBe(first.eventId);
    for (const secret of [before, after]) {
      expect(verifyByContract(second, { secret, now: Date.now() })).toBe(true);
      new Webhook(secret).verify(second.raw, second.headers as Record<string, string>);
    }
    await untilSeen(dataDir, id, { state: 'delivered' });
  });
});

describe('kill -9 while a callback is under way', () => {
  it('leaves it to the next process, with the same id and bytes', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'causeway-webhooks-'));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    layDataFolder(dataDir);
    const environment = {
      DATA_DIR: dataDir,
      ALLOW_LOOPBACK_URLS: 'true',
      SYNTHETIC_PROFILES: '500',
      LOG_LEVEL: 'silent',
    };
    const first = await startGatewayProcess(environment);
    onTestFinished(() => first.kill());
    const authorization = `Bearer ${first.apiKey}`;
    const balance = (await (
      await fetch(`${first.url}/v1/balance`, { headers: { authorization } })
    ).json()) as Body;
    const receiver = await startReceiver({
      secret: () => String(balance['webhook_secret']),
      now: Date.now,
      react: (_delivery, index) => (index === 0 ? 'hang' : 204),
    });
    const response = await fetch(first.url + path, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ ...image, webhook_url: receiver.url }),
    });
    const { id } = (await response.json()) as Body;
    const cut = await deliveryTo(receiver);
    await first.kill();

    await untilSeen(dataDir, id, { event_id: cut.eventId, state: 'pending', attempts: 0 });
    // Its lease would run out by itself in half a minute.
    await operate(dataDir, 'redeliver', cut.eventId);
    const second = await startGatewayProcess(environment);
    onTestFinished(() => second.kill());
    const delivered = await deliveryTo(receiver, 1);
    expect(delivered.isGenuine).toBe(true);
    expect(delivered.raw.equals(cut.raw)).toBe(true);
    await untilSeen(dataDir, id, { state: 'delivered' });
  }, 60_000);
});

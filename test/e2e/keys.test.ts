import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startHttp } from '../http/local-hosts.ts';
import { openAccount } from '../mcp/open-account.ts';
import { startReceiver } from '../jobs/webhooks/start-receiver.ts';
import { connectAssistant, image, page, read, refusal, type Body } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ environment: { ALLOW_LOOPBACK_URLS: 'true' } });
});
afterAll(() => gateway.stop());

const chat = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 };

/** Makes a key with these limits, by the account's first key or another. */
const makeKey = async (apiKey: string, body: Body = {}): Promise<Body & { key: string; id: string }> => {
  const response = await gateway.call('/v1/keys', { apiKey, body });
  expect(response.status).toBe(200);
  return (await response.json()) as Body & { key: string; id: string };
};
const draw = (apiKey: string): Promise<Response> =>
  gateway.call('/v1/images/generations', { apiKey, body: image });

describe('/v1/keys', () => {
  it('makes a key that works at once and is shown once, and lists and reads it', async () => {
    const { apiKey, keyId } = await openAccount(gateway.services);
    const made = await makeKey(apiKey, { label: 'reports' });
    expect(made).toMatchObject({
      key: expect.stringMatching(/^sk_causeway_[0-9A-Za-z]{43}$/),
      object: 'key',
      label: 'reports',
      created_by: keyId,
      models: null,
      budget_day_usd: null,
      day_spent_usd: null,
    });
    expect((await draw(made.key)).status).toBe(200);
    const { key: _key, ...shown } = made;
    expect(await read(gateway, `/v1/keys/${made.id}`, apiKey)).toEqual(shown);
    const { data } = await page(gateway, '/v1/keys', made.key);
    expect(data.map(({ id, created_by: by }) => [id, by])).toEqual([
      [made.id, keyId],
      [keyId, 'operator'],
    ]);
    const first = await page(gateway, '/v1/keys?limit=1', apiKey);
    const rest = await page(gateway, `/v1/keys?limit=1&cursor=${first.next_cursor}`, apiKey);
    expect([...first.data, ...rest.data].map(({ id }) => id)).toEqual([made.id, keyId]);
  });

  it('shows and changes keys of the own account only', async () => {
    const { apiKey } = await openAccount(gateway.services);
    const { keyId: foreign } = await openAccount(gateway.services);
    const missing = { status: 404, code: 'not_found', param: 'key_id' };
    for (const call of [
      { path: `/v1/keys/${foreign}` },
      { path: `/v1/keys/${foreign}`, body: { label: 'mine' } },
      { path: `/v1/keys/${foreign}`, method: 'DELETE' },
      { path: '/v1/keys/nothing' },
    ])
      expect(await refusal(await gateway.call(call.path, { ...call, apiKey }))).toEqual(missing);
  });

  it('takes an amount as a number, too', async () => {
    const { apiKey } = await openAccount(gateway.services);
    const made = await gateway.call('/v1/keys', {
      apiKey,
      body: { budget_day_usd: 5, budget_month_usd: 0.1 },
    });
    expect(await made.json()).toMatchObject({ budget_day_usd: '5.00', budget_month_usd: '0.10' });
  });

  it('changes what is given and leaves the rest, and null removes a limit', async () => {
    const { apiKey } = await openAccount(gateway.services);
    const { id } = await makeKey(apiKey, { budget_day_usd: '5', budget_month_usd: '100.00', label: 'a' });
    const change = async (body: Body) =>
      (await (await gateway.call(`/v1/keys/${id}`, { apiKey, body })).json()) as Body;
    expect(await change({ budget_day_usd: null, models: ['imagemodel-1.0'] })).toMatchObject({
      label: 'a',
      budget_day_usd: null,
      budget_month_usd: '100.00',
      models: ['imagemodel-1.0'],
    });
    expect(await change({ label: 'b' })).toMatchObject({ label: 'b', models: ['imagemodel-1.0'] });
  });

  it.each([
    [{ budget_day_usd: '0' }, 'budget_day_usd'],
    [{ budget_month_usd: '-5' }, 'budget_month_usd'],
    [{ budget_day_usd: 1e-10 }, 'budget_day_usd'],
    [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ expires_at: 'tomorrow' }, 'expires_at'],
    [{ models: [] }, 'models'],
    [{ models: ['no-such-model'] }, 'models'],
    [{ alert_url: 'https://user:word@example.com/hooks' }, 'alert_url'],
    [{ label: 'x'.repeat(101) }, 'label'],
  ])('refuses %j', async (body, param) => {
    const refused = await refusal(await gateway.call('/v1/keys', { body }));
    expect(refused).toEqual({ status: 422, code: 'invalid_parameter', param });
  });

  it.each([
    {
      path: '',
      body: { model: ['imagemodel-1.0'] },
      said: /^model: is not a field here; did you mean models\?$/,
    },
    {
      path: '',
      body: { budget_day: '5' },
      said: /^budget_day: is not a field here; did you mean budget_day_usd\?$/,
    },
    { path: '', body: { colour: 'blue' }, said: /^colour: is not a field here$/ },
    { path: '?budget_day_usd=5', body: {}, said: /^budget_day_usd: .*in the body/ },
    { path: '?budget_day=5', body: {}, said: /^budget_day: .*in the body/ },
  ])('refuses a limit that it would not set: $path $body', async ({ path, body, said }) => {
    const { apiKey } = await openAccount(gateway.services);
    const { id } = await makeKey(apiKey);
    for (const address of [`/v1/keys${path}`, `/v1/keys/${id}${path}`]) {
      const response = await gateway.call(address, { apiKey, body });
      expect([response.status, await response.json()]).toEqual([
        422,
        {
          error: expect.objectContaining({ code: 'invalid_parameter', message: expect.stringMatching(said) }),
        },
      ]);
    }
    expect((await page(gateway, '/v1/keys', apiKey)).data).toHaveLength(2);
  });

  it('ends a key at once, the last one too, and revoked keys stay as they are', async () => {
    const { apiKey, keyId } = await openAccount(gateway.services);
    const { id, key } = await makeKey(apiKey);
    const revoked = await gateway.call(`/v1/keys/${id}`, { apiKey, method: 'DELETE' });
    expect(await revoked.json()).toMatchObject({ id, revoked_at: expect.any(String) });
    expect(await refusal(await draw(key))).toMatchObject({ status: 401, code: 'invalid_api_key' });
    const changed = await gateway.call(`/v1/keys/${id}`, { apiKey, body: { label: 'again' } });
    expect(await refusal(changed)).toMatchObject({ status: 400, code: 'invalid_value' });
    expect((await gateway.call(`/v1/keys/${keyId}`, { apiKey, method: 'DELETE' })).status).toBe(200);
    expect(await refusal(await gateway.call('/v1/keys', { apiKey }))).toMatchObject({ status: 401 });
  });

  it.each([
    { budget_day_usd: '5.00' },
    { models: ['imagemodel-1.0'] },
    { expires_at: '2999-01-01T00:00:00Z' },
  ])('is closed to a key with %j, which could make one without', async (limits) => {
    const { apiKey, keyId } = await openAccount(gateway.services);
    const { id, key } = await makeKey(apiKey, limits);
    for (const call of [
      { path: '/v1/keys' },
      { path: '/v1/keys', body: {} },
      { path: `/v1/keys/${id}` },
      { path: `/v1/keys/${id}`, body: { budget_day_usd: null, models: null, expires_at: null } },
      { path: `/v1/keys/${keyId}`, method: 'DELETE' },
    ])
      expect(await refusal(await gateway.call(call.path, { ...call, apiKey: key }))).toMatchObject({
        status: 403,
        code: 'permission_denied',
      });
  });

  it.each([
    { budget_month_usd: '100.00' },
    { models: ['imagemodel-1.0'] },
    { expires_at: '2999-01-01T00:00:00Z' },
  ])(
    'lets a key with %j read the balance and all jobs of its account, but not the webhook secret',
    async (limits) => {
      const { apiKey } = await openAccount(gateway.services);
      const { key } = await makeKey(apiKey, limits);
      expect((await draw(apiKey)).status).toBe(200);
      const { webhook_secret: secret, ...balance } = await read(gateway, '/v1/balance', apiKey);
      expect(secret).toMatch(/^whsec_/);
      expect(await read(gateway, '/v1/balance', key)).toEqual({ ...balance, webhook_secret: null });
      for (const path of ['/v1/jobs', '/v1/transactions'])
        expect(await page(gateway, path, key)).toEqual(await page(gateway, path, apiKey));
    },
  );

  it('is no tool', async () => {
    const assistant = await connectAssistant(gateway, gateway.apiKey);
    onTestFinished(() => assistant.close());
    const { tools } = await assistant.listTools();
    expect(tools.map(({ name }) => name).filter((name) => name.includes('key'))).toEqual([]);
  });
});

describe('a key with an expiry', () => {
  it('is refused from then on, which the refusal tells', async () => {
    const { apiKey } = await openAccount(gateway.services);
    const { id, key } = await makeKey(apiKey);
    await gateway.services.store.changeKey({ id, expiresAt: Date.now() - 1 });
    const response = await draw(key);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({
      error: { code: 'invalid_api_key', message: expect.stringContaining('expired at 20') },
    });
  });
});

describe('a key with a list of models', () => {
  it('sees and buys these alone, over REST and MCP', async () => {
    const { apiKey } = await openAccount(gateway.services);
    const { key } = await makeKey(apiKey, { models: ['imagemodel-1.0'] });
    const { data } = await page(gateway, '/v1/models', key);
    expect(data.map(({ id }) => id)).toEqual(['imagemodel-1.0']);
    expect(
      await refusal(await gateway.call('/v1/models/textmodel-3.5-flash', { apiKey: key })),
    ).toMatchObject({
      status: 404,
    });
    expect((await draw(key)).status).toBe(200);
    const notSold = { status: 400, code: 'model_not_found', param: 'model' };
    for (const [path, body] of [
      ['/v1/chat/completions', chat],
      ['/v1/responses', { model: 'textmodel-3.5-flash', input: 'Hello' }],
      ['/v1/videos', { model: 'videomodel-2.0', prompt: 'waves', duration: 4 }],
    ] as const)
      expect(await refusal(await gateway.call(path, { apiKey: key, body }))).toEqual(notSold);
    const assistant = await connectAssistant(gateway, key);
    onTestFinished(() => assistant.close());
    const names = (await assistant.listTools()).tools.map(({ name }) => name);
    const instructions = assistant.getInstructions();
    expect(names).toContain('create_image');
    for (const hidden of ['create_video', 'create_chat_completion']) {
      expect(names).not.toContain(hidden);
      expect(instructions).not.toContain(hidden);
    }
    const bought = await assistant.callTool({ name: 'create_chat_completion', arguments: chat });
    expect(bought).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'model_not_found' } },
    });
  });
});

describe('a key with a budget', () => {
  it('buys within it, is refused above it before anything is sent, and gets failures back', async () => {
    const { apiKey } = await openAccount(gateway.services);
    const { id, key } = await makeKey(apiKey, { budget_day_usd: '0.10' });
    expect((await draw(key)).status).toBe(200);
    const failing = { ...image, prompt: '[sandbox:fail]' };
    await gateway.call('/v1/images/generations', { apiKey: key, body: failing });
    expect(await read(gateway, `/v1/keys/${id}`, apiKey)).toMatchObject({
      day_spent_usd: '0.04',
      day_held_usd: '0.00',
      month_spent_usd: '0.04',
    });
    expect((await draw(key)).status).toBe(200);
    const refused = await draw(key);
    expect(refused.status).toBe(402);
    const { error } = (await refused.json()) as { error: Body };
    expect(error).toMatchObject({
      type: 'insufficient_quota',
      code: 'insufficient_balance',
      param: 'budget_day_usd',
      message: expect.stringMatching(
        /needs \$0\.04, .* of \$0\.10 a day, \$0\.08 is spent and \$0\.00 is held .* resets at \d{4}-\d\d-\d\dT00:00:00\.000Z/,
      ),
    });
    expect((await draw(apiKey)).status).toBe(200);
  });

  it('is refused above it before an input is downloaded', async () => {
    const { apiKey } = await openAccount(gateway.services);
    const { key } = await makeKey(apiKey, { budget_day_usd: '0.000001' });
    let asked = 0;
    const host = await startHttp((_request, response) => {
      asked += 1;
      response.end();
    });
    const url = `${host}/a.png`;
    const message = { role: 'user', content: [{ type: 'image_url', image_url: { url } }] };
    for (const [path, body] of [
      ['/v1/images/generations', { ...image, image: url }],
      ['/v1/videos', { model: 'videomodel-2.0', prompt: 'a lighthouse', image_url: url }],
      ['/v1/chat/completions', { ...chat, messages: [message] }],
    ] as const)
      expect(await refusal(await gateway.call(path, { apiKey: key, body }))).toMatchObject({
        status: 402,
        code: 'insufficient_balance',
        param: 'budget_day_usd',
      });
    expect(asked).toBe(0);
  });

  it('lowers the output of a chat without a limit to what is left, as a low balance does', async () => {
    const { apiKey } = await openAccount(gateway.services);
    const { key } = await makeKey(apiKey, { budget_month_usd: '0.001' });
    const { max_tokens: _limit, ...unlimited } = chat;
    const answered = await gateway.call('/v1/chat/completions', { apiKey: key, body: unlimited });
    expect(answered.status).toBe(200);
    const body = { ...chat, max_tokens: 16_000 };
    const refused = await gateway.call('/v1/chat/completions', { apiKey: key, body });
    expect(await refusal(refused)).toMatchObject({ status: 402, param: 'budget_month_usd' });
  });

  it('tells its alert address of 80 % and 100 %, once each, signed with the secret of the account', async () => {
    const { apiKey } = await openAccount(gateway.services);
    const secret = String((await read(gateway, '/v1/balance', apiKey))['webhook_secret']);
    const receiver = await startReceiver({ secret: () => secret, now: Date.now });
    const { id, key } = await makeKey(apiKey, {
      budget_day_usd: '0.20',
      alert_url: receiver.url,
      label: 'shop',
    });
    for (let images = 0; images < 5; images += 1) expect((await draw(key)).status).toBe(200);
    await vi.waitFor(() => expect(receiver.deliveries).toHaveLength(2), { timeout: 60_000, interval: 20 });
    const told = receiver.deliveries.map(({ raw }) => JSON.parse(raw.toString('utf8')) as Body);
    expect(told.sort((a, b) => Number(a['percent']) - Number(b['percent']))).toMatchObject([
      {
        type: 'key.budget_reached',
        key_id: id,
        label: 'shop',
        period: 'day',
        percent: 80,
        spent_usd: '0.16',
      },
      { type: 'key.budget_reached', percent: 100, budget_usd: '0.20', spent_usd: '0.20' },
    ]);
    expect(receiver.deliveries.every(({ isGenuine }) => isGenuine)).toBe(true);
  });
});

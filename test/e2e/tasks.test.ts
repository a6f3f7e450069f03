import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startReceiver } from '../jobs/webhooks/start-receiver.ts';
import { openAccount } from '../mcp/open-account.ts';
import { connectRequester, sendModern, taskIdOf } from '../mcp/task-requester.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const image = { model: 'imagemodel-1.0' };
const queued = { ...image, async: true };
const video = { model: 'videomodel-2.0', duration: 5 };
const slow = (seconds: number): string => `[sandbox:slow=${seconds}] a harbour`;
const asked = (content: string) => ({ messages: [{ role: 'user', content }], max_completion_tokens: 50 });

const readTool = async (
  { url, apiKey }: Pick<TestGateway, 'url' | 'apiKey'>,
  name: string,
  input: Record<string, unknown>,
) => {
  const { result } = await sendModern(
    { url: `${url}/mcp`, apiKey },
    { method: 'tools/call', params: { name, arguments: input } },
    {},
  );
  const { _meta: _serverInfo, ...answer } = result ?? {};
  return answer;
};

describe('the tasks extension', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.stop());

  it('answers a queued image with the task of its job, whose result is what get_job answers', async () => {
    const session = await connectRequester(gateway);
    const execution = await session.callTool('create_image', { ...queued, prompt: 'a harbour' });
    const taskId = taskIdOf(execution);
    const { outcome, lastTask } = await execution.settle();
    const read = await readTool(gateway, 'get_job', { job_id: taskId });
    expect(read).toMatchObject({ structuredContent: { id: taskId, status: 'done' } });
    expect(outcome).toMatchObject({ status: 'completed', result: read });
    const { createdAt, lastUpdatedAt } = lastTask ?? {};
    const thirtyDaysMs = 30 * 86_400_000;
    expect(lastTask).toMatchObject({
      taskId,
      raw: { ttlMs: thirtyDaysMs + Date.parse(lastUpdatedAt ?? '') - Date.parse(createdAt ?? '') },
    });
  });

  it('answers a video with the task of its job, whose result is what get_video answers', async () => {
    const session = await connectRequester(gateway);
    const execution = await session.callTool('create_video', { ...video, prompt: 'a harbour' });
    const { outcome } = await execution.settle();
    const read = await readTool(gateway, 'get_video', { video_id: taskIdOf(execution) });
    expect(read).toMatchObject({ structuredContent: { status: 'completed' } });
    expect(outcome).toMatchObject({ status: 'completed', result: read });
  });

  it('answers a long chat with a task, whose result is the completion', async () => {
    const session = await connectRequester(gateway);
    const execution = await session.callTool('create_chat_completion', asked(slow(2.5)));
    const { outcome } = await execution.settle();
    expect(outcome).toMatchObject({
      status: 'completed',
      result: { structuredContent: { id: `chatcmpl-${taskIdOf(execution)}`, object: 'chat.completion' } },
    });
  });

  it('answers a repeat with the same task', async () => {
    const input = { ...video, prompt: slow(30), idempotency_key: 'again' };
    const create = async () =>
      taskIdOf(await (await connectRequester(gateway)).callTool('create_video', input));
    expect(await create()).toBe(await create());
  });

  it('answers short work at once, and everything to a client that does not declare it', async () => {
    const session = await connectRequester(gateway);
    const short = await session.callTool('create_chat_completion', asked('hello'));
    expect(short.kind).toBe('immediate');
    const answer = await readTool(gateway, 'create_image', { ...queued, prompt: 'a harbour' });
    expect(answer).toMatchObject({ resultType: 'complete', structuredContent: { status: 'queued' } });
  });

  it('completes a task whose work failed with what the tool says of it', async () => {
    const session = await connectRequester(gateway);
    const refused = '[sandbox:slow=2.5] [sandbox:moderated] a harbour';
    const picture = await session.callTool('create_image', { ...queued, prompt: refused });
    expect((await picture.settle()).outcome).toMatchObject({
      status: 'completed',
      result: { structuredContent: { status: 'failed', error: { code: 'content_policy_violation' } } },
    });
    const chat = await session.callTool('create_chat_completion', asked(refused));
    expect(chat.kind).toBe('task');
    expect((await chat.settle()).outcome).toMatchObject({
      status: 'completed',
      result: { isError: true, structuredContent: { error: { code: 'content_policy_violation' } } },
    });
  });

  it('is told of at discovery, and not where no tool makes jobs', async () => {
    const at = async (path: string) =>
      (await sendModern({ url: gateway.url + path, apiKey: null }, { method: 'server/discover' })).result;
    const extensions = { 'io.modelcontextprotocol/tasks': {} };
    expect(await at('/mcp')).toMatchObject({ capabilities: { extensions } });
    expect(await at('/mcp/generation')).toMatchObject({ capabilities: { extensions } });
    expect(await at('/mcp/search')).not.toHaveProperty('capabilities.extensions');
  });

  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    'refuses %s of an unknown task, of another account, without a key and without the extension',
    async (method) => {
      const session = await connectRequester(gateway);
      const taskId = taskIdOf(await session.callTool('create_video', { ...video, prompt: slow(30) }));
      const other = await openAccount(gateway.services);
      const send = (apiKey: string | null, id: string, capabilities?: object) =>
        sendModern(
          { url: `${gateway.url}/mcp`, apiKey },
          { method, params: { taskId: id, inputResponses: {} } },
          capabilities,
        );
      const unknown = { error: { code: -32602, message: expect.stringContaining('no task') } };
      expect(await send(gateway.apiKey, crypto.randomUUID())).toMatchObject(unknown);
      expect(await send(gateway.apiKey, "x' or 1=1")).toMatchObject(unknown);
      expect(await send(other.apiKey, taskId)).toMatchObject(unknown);
      expect(await send(null, taskId)).toMatchObject({
        error: { code: -32602, data: { error: { code: 'invalid_api_key' } } },
      });
      expect(await send(gateway.apiKey, taskId, {})).toMatchObject({
        error: {
          code: -32021,
          data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
        },
      });
      expect((await send(gateway.apiKey, taskId)).result).toMatchObject({ resultType: 'complete' });
    },
  );
});

describe('cancelling a task', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({
      environment: { QUEUED_JOBS_AT_ONCE: '1', ALLOW_LOOPBACK_URLS: 'true' },
    });
  });
  afterAll(() => gateway.stop());

  const start = async () => {
    const { apiKey: ownersKey } = await openAccount(gateway.services);
    const read = async (path: string, apiKey = ownersKey): Promise<Record<string, unknown>> =>
      (await gateway.call(path, { apiKey })).json() as Promise<Record<string, unknown>>;
    const made = await gateway.call('/v1/keys', { apiKey: ownersKey, body: { budget_day_usd: '5' } });
    const { id: keyId, key: apiKey } = (await made.json()) as { id: string; key: string };
    const session = await connectRequester({ url: gateway.url, apiKey });
    const create = async (input: object) =>
      taskIdOf(await session.callTool('create_image', { ...queued, ...input }));
    const running = await create({ prompt: slow(3) });
    await expect.poll(() => read(`/v1/jobs/${running}`)).toMatchObject({ status: 'running' });
    const cancel = (taskId: string) =>
      sendModern({ url: `${gateway.url}/mcp`, apiKey }, { method: 'tasks/cancel', params: { taskId } });
    return { session, create, running, read, cancel, keyId };
  };

  it('ends a queued job as failed and uncharged, and tells its webhook', async () => {
    const { session, create, read, cancel, keyId } = await start();
    const secret = String((await read('/v1/balance'))['webhook_secret']);
    const receiver = await startReceiver({ secret: () => secret, now: Date.now });
    const waiting = await create({ prompt: 'never made', webhook_url: receiver.url });
    expect(await session.task(waiting).snapshot()).toMatchObject({
      status: 'working',
      statusMessage: expect.stringContaining('can be cancelled'),
    });
    expect(await read(`/v1/keys/${keyId}`)).toMatchObject({ day_held_usd: '0.08' });
    await session.task(waiting).cancel();
    expect(await session.task(waiting).snapshot()).toMatchObject({
      status: 'cancelled',
      statusMessage: expect.stringContaining('not charged'),
    });
    expect(await read(`/v1/jobs/${waiting}`)).toMatchObject({
      status: 'failed',
      error: { code: 'cancelled' },
      usage: { cost_usd: '0.00', balance_remaining_usd: '9.96' },
    });
    expect(await read(`/v1/keys/${keyId}`)).toMatchObject({ day_held_usd: '0.04' });
    await expect
      .poll(() => receiver.deliveries.map(({ raw }) => JSON.parse(String(raw))))
      .toMatchObject([{ id: waiting, status: 'failed', error: { code: 'cancelled' } }]);
    expect(await cancel(waiting)).toMatchObject({ result: { _meta: { 'causeway/cancelled': true } } });
  });

  it('lets a running job go on to its charge, and says so', async () => {
    const { session, running, read, cancel } = await start();
    expect(await cancel(running)).toMatchObject({
      result: {
        _meta: { 'causeway/cancelled': false, 'causeway/message': expect.stringContaining('is charged') },
      },
    });
    expect(await session.task(running).snapshot()).toMatchObject({
      status: 'working',
      statusMessage: expect.stringContaining('is charged'),
    });
    expect(await session.task(running).result()).toMatchObject({ status: 'completed' });
    expect(await read('/v1/balance')).toMatchObject({ balance_usd: '9.96' });
    expect(await gateway.services.store.checkLedger()).toMatchObject({ problems: [], openHolds: 0 });
  });
});

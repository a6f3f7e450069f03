import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createTestDatabase } from '../cli/test-database.ts';
import { openAccount } from '../mcp/open-account.ts';
import { connectRequester, taskIdOf } from '../mcp/task-requester.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const image = { model: 'imagemodel-1.0' };
const queued = { ...image, async: true };
const video = { model: 'videomodel-2.0', duration: 5 };
const slow = (seconds: number): string => `[sandbox:slow=${seconds}] a harbour`;
const asked = (content: string) => ({ messages: [{ role: 'user', content }], max_completion_tokens: 50 });

const database = await createTestDatabase();
const dataDir = await mkdtemp(join(tmpdir(), 'tasks-'));
const places: { name: string; settings: Record<string, string> }[] = [
  { name: 'SQLite', settings: { DATA_DIR: dataDir } },
  ...(database === null ? [] : [{ name: 'PostgreSQL', settings: { DATABASE_URL: database.url } }]),
];
afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
  await database?.drop();
});

describe('tasks of long work', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.stop());

  it.each([
    ['create_response', { input: slow(4) }, { object: 'response', status: 'completed' }],
    ['create_image', { ...image, prompt: slow(4) }, { status: 'done' }],
  ])('answer %s in the end as the tool does', async (name, input, expected) => {
    const session = await connectRequester(gateway);
    const execution = await session.callTool(name, input);
    expect(execution.kind).toBe('task');
    const { outcome } = await execution.settle();
    expect(outcome).toMatchObject({ status: 'completed', result: { structuredContent: expected } });
  });
});

describe('tasks of a gateway that has ended', () => {
  it.each(places)('go on at the next one on the same $name', async ({ settings }) => {
    const environment = { ...settings, QUEUED_JOBS_AT_ONCE: '1', DRAIN_MS: '0' };
    const first = await startTestGateway({ environment });
    const { apiKey } = first;
    const before = await connectRequester(first);
    const create = async (name: string, input: object) => taskIdOf(await before.callTool(name, { ...input }));
    const made = await create('create_image', { ...queued, prompt: 'a harbour' });
    expect(await before.task(made).result()).toMatchObject({ status: 'completed' });
    await create('create_image', { ...queued, prompt: slow(600) });
    const waiting = await create('create_image', { ...queued, prompt: 'a harbour' });
    const film = await create('create_video', { ...video, prompt: slow(3) });
    await first.stop();

    const second = await startTestGateway({ environment });
    onTestFinished(() => second.stop());
    const session = await connectRequester({ url: second.url, apiKey });
    expect(await session.task(made).snapshot()).toMatchObject({ status: 'completed' });
    await session.task(waiting).cancel();
    expect(await session.task(waiting).result()).toMatchObject({ status: 'cancelled' });
    expect(await session.task(film).result()).toMatchObject({
      status: 'completed',
      result: { structuredContent: { id: film, status: 'completed' } },
    });
  });

  it.skipIf(database === null)('are read and cancelled at another replica meanwhile', async () => {
    const environment = { DATABASE_URL: database?.url ?? '', QUEUED_JOBS_AT_ONCE: '1' };
    const first = await startTestGateway({ environment });
    onTestFinished(() => first.stop());
    const second = await startTestGateway({ environment });
    onTestFinished(() => second.stop());
    const { apiKey } = await openAccount(first.services);
    const one = await connectRequester({ url: first.url, apiKey });
    const other = await connectRequester({ url: second.url, apiKey });
    const chat = taskIdOf(await one.callTool('create_chat_completion', asked(slow(4))));
    const create = async (prompt: string) =>
      taskIdOf(await one.callTool('create_image', { ...queued, prompt }));
    const blockers = await Promise.all([create(slow(5)), create(slow(5))]);
    const waiting = await create('never made');
    await other.task(waiting).cancel();
    expect(await one.task(waiting).result()).toMatchObject({ status: 'cancelled' });
    expect(await other.task(chat).result()).toMatchObject({
      status: 'completed',
      result: { structuredContent: { object: 'chat.completion' } },
    });
    for (const id of blockers) await other.task(id).result();
    expect(await first.services.store.checkLedger()).toMatchObject({ problems: [], openHolds: 0 });
  });
});

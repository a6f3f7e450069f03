import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { dataUri } from '../media/input-images.ts';
import { startS3Server, type S3Server } from '../media/s3-server.ts';
import { openAccount } from '../mcp/open-account.ts';
import { startStubVideoUpstream, type StubVideoUpstream } from '../providers/video/stub-video-upstream.ts';
import { readClip } from '../providers/video/read-clip.ts';
import { page, read, refusal, type Body } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const tasks = '/api/v3/contents/generations/tasks';
const task = `${tasks}/cgt-1`;
const film = { model: 'videomodel-2.0', prompt: 'A harbour at dawn', duration: 4, resolution: '480p' };

let dataDir: string;
let upstream: StubVideoUpstream;
let bucket: S3Server;
let clip: Buffer;
let gateway: TestGateway;
let apiKey: string;

/** A gateway on the same data folder and bucket as the one before it. */
const start = (): Promise<TestGateway> =>
  startTestGateway({
    environment: {
      DATA_DIR: dataDir,
      UPSTREAM_KEY: 'upstream-secret',
      ALLOW_LOOPBACK_URLS: 'true',
      MEDIA_URL: `s3://${bucket.config.bucket}/some/prefix`,
      S3_ENDPOINT: bucket.config.endpoint,
      S3_ACCESS_KEY_ID: bucket.config.accessKeyId,
      S3_SECRET_ACCESS_KEY: bucket.config.secretAccessKey,
    },
    yaml: `
providers:
  ark: { type: modelark, base_url: "${upstream.origin}", api_key_env: UPSTREAM_KEY }
models:
  videomodel-2.0:
    kind: video
    price: { unit: second, rates: [{ resolution: 480p, price_usd: "0.02", with_video_price_usd: "0.01" }] }
    duration: { min_seconds: 4, max_seconds: 15, default_seconds: 5 }
    routes: [{ provider: ark, model: upstream-name }]
`,
  });

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'causeway-videos-'));
  [upstream, bucket, clip] = await Promise.all([
    startStubVideoUpstream(),
    startS3Server(),
    readClip('plain.mp4'),
  ]);
  upstream.reply(`POST ${tasks}`, { kind: 'json', body: { id: 'cgt-1' } });
  upstream.reply('GET /made.mp4', { kind: 'file', bytes: clip });
  gateway = await start();
  ({ apiKey } = await openAccount(gateway.services));
});
afterEach(() => {
  bucket.intercept = () => false;
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
  await bucket.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const tellRunning = (): void => upstream.reply(`GET ${task}`, { kind: 'json', body: { status: 'running' } });
const tellDone = (): void =>
  upstream.reply(`GET ${task}`, {
    kind: 'json',
    body: { id: 'cgt-1', status: 'succeeded', content: { video_url: `${upstream.origin}/made.mp4` } },
  });
const asked = (method: string, path: string): number =>
  upstream.requests.filter((request) => request.method === method && request.path === path).length;

const create = async (): Promise<string> => {
  const answer = await gateway.call('/v1/videos', { apiKey, body: film });
  expect(answer.status).toBe(202);
  return ((await answer.json()) as { id: string }).id;
};
const whenCompleted = (id: string): Promise<Body> =>
  vi.waitFor(
    async () => {
      const video = await read(gateway, `/v1/videos/${id}`, apiKey);
      expect(video['status']).toBe('completed');
      return video;
    },
    { timeout: 60_000, interval: 100 },
  );
const make = async (): Promise<string> => {
  tellDone();
  const id = await create();
  await whenCompleted(id);
  return id;
};
const content = (id: string, headers: Record<string, string> = {}): Promise<Response> =>
  gateway.call(`/v1/videos/${id}/content`, { apiKey, headers });
const historyOf = async (id: string): Promise<Body | undefined> =>
  (await page(gateway, '/v1/jobs', apiKey)).data.find((job) => job['id'] === id);

const answerXml = (response: ServerResponse, status: number, code: string): true => {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);
  return true;
};

describe('a gateway that is started again in the middle of a video', () => {
  // It waits half a lease before it takes up what another process left.
  it('goes on with the upstream’s task instead of beginning another, and charges once', async () => {
    tellRunning();
    const id = await create();
    await vi.waitFor(() => expect(asked('GET', task)).toBeGreaterThan(0), { timeout: 60_000 });
    expect(await read(gateway, `/v1/videos/${id}`, apiKey)).toMatchObject({ status: 'in_progress' });
    await gateway.stop();
    tellDone();
    gateway = await start();
    expect(await whenCompleted(id)).toMatchObject({ usage: { cost_usd: '0.08' } });
    expect(asked('POST', tasks)).toBe(1);
    expect(Buffer.from(await (await content(id)).arrayBuffer()).equals(clip)).toBe(true);
    expect(await page(gateway, '/v1/transactions', apiKey)).toMatchObject({
      data: [{ type: 'debit', amount_usd: '-0.08', job_id: id }, { type: 'topup' }],
    });
  }, 90_000);
});

describe('a clip that was made here', () => {
  it('counts the seconds that it was made for, however long the upstream made it; another clip its own', async () => {
    upstream.reply('GET /made.mp4', { kind: 'file', bytes: await readClip('longer.mp4') });
    const id = await make();
    upstream.reply('GET /made.mp4', { kind: 'file', bytes: clip });
    const made = Buffer.from(await (await content(id)).arrayBuffer());
    const billedWith = async (bytes: Buffer): Promise<unknown> => {
      const part = { type: 'video_url', video_url: { url: dataUri('video/mp4', bytes) } };
      const answer = await gateway.call('/v1/videos', { apiKey, body: { ...film, content: [part] } });
      const video = (await answer.json()) as Body;
      await whenCompleted(String(video['id']));
      return video['usage'];
    };
    expect(await billedWith(made)).toMatchObject({ billed_seconds: 8 });
    // 4.5 seconds of pictures, which nobody made here.
    const other = Buffer.concat([made, Buffer.from('\0\0\0\x08free', 'latin1')]);
    expect(await billedWith(other)).toMatchObject({ billed_seconds: 9 });
  }, 60_000);
});

describe('the content of a video in a bucket', () => {
  it.each<[string, S3Server['intercept']]>([
    ['fails', (_request, response) => answerXml(response, 500, 'InternalError')],
    ['hangs up', ({ socket }) => socket.destroy() !== undefined],
    ['refuses the key', (_request, response) => answerXml(response, 403, 'AccessDenied')],
    ['is not there itself', (_request, response) => answerXml(response, 404, 'NoSuchBucket')],
  ])('is not given up, nor paid back, when the bucket %s', async (_what, intercept) => {
    const id = await make();
    bucket.intercept = intercept;
    const answer = await content(id);
    expect(answer.status).toBe(502);
    expect(await answer.json()).toEqual({
      error: {
        type: 'server_error',
        code: 'upstream_error',
        message: 'The content could not be read. Try again.',
      },
    });
    bucket.intercept = () => false;
    expect((await content(id)).status).toBe(200);
    expect(await historyOf(id)).toMatchObject({ billing_status: 'charged', refunded_usd: '0.00' });
  });

  it('is paid back once when the bucket has it no more', async () => {
    const id = await make();
    bucket.intercept = ({ method }, response) => method === 'GET' && answerXml(response, 404, 'NoSuchKey');
    const answers = await Promise.all([content(id), content(id, { range: 'bytes=0-9' })]);
    for (const answer of [...answers, await content(id)])
      expect(await answer.json()).toMatchObject({
        error: {
          code: 'upstream_error',
          message: expect.stringContaining('The charge of $0.08 was given back.'),
        },
      });
    expect(await historyOf(id)).toMatchObject({
      billing_status: 'refunded',
      refunded_usd: '0.08',
      net_spent_usd: '0.00',
    });
    expect((await gateway.services.store.checkLedger()).problems).toEqual([]);
  });

  it('that is missing in its last minute has expired elsewhere, by a clock that is ahead', async () => {
    const id = await make();
    bucket.intercept = ({ method }, response) => method === 'GET' && answerXml(response, 404, 'NoSuchKey');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 23 * 3_600_000 - 30_000 });
    try {
      expect(await refusal(await content(id))).toMatchObject({ status: 410, code: 'content_expired' });
      expect(await historyOf(id)).toMatchObject({ billing_status: 'charged' });
    } finally {
      vi.useRealTimers();
    }
  });

  it('is gone 23 hours after completion, and its bytes with it', async () => {
    const id = await make();
    const [media] = await gateway.services.store.listMedia(id);
    const isKept = async (): Promise<boolean> =>
      (await bucket.contents()).some((name) => name.includes(media?.id ?? 'no id'));
    expect(await isKept()).toBe(true);
    await gateway.stop();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 23 * 3_600_000 + 1_000 });
    try {
      gateway = await start();
      expect(await refusal(await content(id))).toMatchObject({ status: 410, code: 'content_expired' });
      await vi.waitFor(async () => expect(await isKept()).toBe(false), { timeout: 60_000 });
      expect(await refusal(await content(id))).toMatchObject({ status: 410, code: 'content_expired' });
      expect(await read(gateway, `/v1/videos/${id}`, apiKey)).toMatchObject({ status: 'completed' });
      expect(await historyOf(id)).toMatchObject({ billing_status: 'charged' });
    } finally {
      vi.useRealTimers();
    }
  });
});

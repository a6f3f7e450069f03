import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import { dataUri, makeImage } from '../media/input-images.ts';
import { startHttp } from '../http/local-hosts.ts';
import { connectAssistant, read, tool, type Body } from './account-calls.ts';
import { endMedia } from './end-media.ts';
import { colourOf, imageCalls, path, pictureOf, plain, startImageGateway, urlOf } from './image-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let images: Awaited<ReturnType<typeof startImageGateway>>;
let gateway: TestGateway;
let assistant: Client;
let red: Buffer;
let green: Buffer;

beforeAll(async () => {
  images = await startImageGateway();
  ({ gateway } = images);
  assistant = await connectAssistant(gateway, gateway.apiKey);
  red = await makeImage('png', { width: 60, height: 40, colour: '#ff0000' });
  green = await makeImage('jpeg', { width: 60, height: 40, colour: '#00ff00' });
});

afterAll(async () => {
  await assistant.close();
  await images.stop();
});

const { post, get, make, untilEnd, available } = imageCalls(() => gateway);

describe('an image from text', () => {
  it('is a done job with a picture behind a URL, the same whoever reads it and when', async () => {
    const made = await make({ custom_data: { order: 7 } });
    const url = urlOf(made);
    expect(made).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 'done',
      model: 'imagemodel-1.0',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      finished_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      custom_data: { order: 7 },
      data: [{ url, revised_prompt: null }],
      error: null,
      usage: { cost_usd: '0.04', balance_remaining_usd: await available() },
      metadata: { sandbox: true },
    });
    expect(await get(`/v1/jobs/${String(made['id'])}`)).toEqual(made);
    expect(await tool(assistant, 'get_job', { job_id: made['id'] })).toEqual(made);
    const picture = await sharp(await pictureOf(made)).metadata();
    expect([picture.format, picture.width, picture.height]).toEqual(['png', 1024, 1024]);
  });

  it.each(['auto', '4:3', '3:4', '16:9', '9:16', '2:3', '3:2', '1:1', '4:5', '5:4', '21:9'])(
    'has the ratio %s',
    async (ratio) => {
      const { width, height } = await sharp(await pictureOf(await make({ aspect_ratio: ratio }))).metadata();
      const [across = 1, down = 1] = (ratio === 'auto' ? '1:1' : ratio).split(':').map(Number);
      expect(width / height).toBeCloseTo(across / down, 1);
    },
  );

  it.each([
    ['1920x1080', 16 / 9],
    ['1024x1536', 2 / 3],
    ['auto', 1],
  ])('of the size %s has the ratio nearest to it', async (size, ratio) => {
    const { width, height } = await sharp(await pictureOf(await make({ size }))).metadata();
    expect(width / height).toBeCloseTo(ratio, 1);
  });

  it('takes every optional field as null, what it does not know, and no image as text alone', async () => {
    const nulls = {
      aspect_ratio: null,
      size: null,
      n: null,
      response_format: null,
      image: null,
      webhook_url: null,
    };
    for (const more of [
      nulls,
      { quality: 'hd', style: 5 },
      { image: '' },
      { image: [] },
      { n: 1, response_format: 'url' },
    ])
      expect(await make(more)).toMatchObject({ status: 'done', custom_data: {} });
  });

  it('is queued with 202 when asked for asynchronously, and ends by itself', async () => {
    const queued = await make({ custom_data: { a: [1, null] } }, '?async=true');
    expect(queued).toMatchObject({
      status: 'queued',
      data: [],
      error: null,
      finished_at: null,
      custom_data: { a: [1, null] },
    });
    expect(queued['usage']).toEqual({ balance_remaining_usd: expect.any(String) });
    const ended = await untilEnd(queued['id']);
    expect((await sharp(await pictureOf(ended)).metadata()).format).toBe('png');
    expect(ended).toMatchObject({
      id: queued['id'],
      created_at: queued['created_at'],
      usage: { cost_usd: '0.04' },
    });
  });

  it.each(['True', 'TRUE', '1', 'False', 'fAlse', '0'])('takes async=%s, in any case', async (text) => {
    const response = await post({ ...plain, stream: false }, `?async=${text}`);
    expect(response.status).toBe(/^(?:true|1)$/i.test(text) ? 202 : 200);
  });

  it('is made and charged also when its client has gone', async () => {
    const { apiKey } = await openAccount(gateway.services, { isSandbox: true });
    const leaving = new AbortController();
    const request = fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...plain, prompt: '[sandbox:slow=4] a harbour' }),
      signal: leaving.signal,
    });
    const newest = async (): Promise<Body | undefined> =>
      ((await read(gateway, '/v1/jobs', apiKey))['data'] as Body[])[0];
    await expect.poll(newest, { interval: 20 }).toMatchObject({ status: 'running' });
    leaving.abort();
    await expect(request).rejects.toThrow('aborted');
    await expect
      .poll(newest)
      .toMatchObject({ status: 'done', billing_status: 'charged', charged_usd: '0.04' });
  });

  it('that fails or is moderated says so in the job, has no data and costs nothing', async () => {
    const before = await available();
    const failed = await make({ prompt: 'x [sandbox:fail]' });
    const moderated = await make({ prompt: 'x [sandbox:moderated]' });
    expect(failed).toMatchObject({
      status: 'failed',
      data: [],
      error: { type: 'server_error', code: 'upstream_error' },
    });
    expect(moderated).toMatchObject({
      status: 'failed',
      data: [],
      error: {
        type: 'invalid_request_error',
        code: 'content_policy_violation',
        message: expect.stringContaining('refused'),
      },
    });
    expect(await available()).toBe(before);
  });
});

describe('an image that takes longer than the deadline', () => {
  it('is answered with 200 and the pending job, and goes on, over REST and MCP', async () => {
    const hasty = await startTestGateway({ environment: { IMAGE_DEADLINE_MS: '50' } });
    onTestFinished(() => hasty.stop());
    const slow = { ...plain, prompt: '[sandbox:slow=4] fog' };
    const overRest = await make(slow, '', hasty);
    const hastyAssistant = await connectAssistant(hasty, hasty.apiKey);
    const overMcp = await tool(hastyAssistant, 'create_image', slow);
    await hastyAssistant.close();
    for (const pending of [overRest, overMcp]) {
      const status = expect.stringMatching(/^(?:queued|running)$/);
      expect(pending).toMatchObject({ status, data: [], error: null, finished_at: null });
      expect(await untilEnd(pending['id'], hasty)).toMatchObject({
        status: 'done',
        usage: { cost_usd: '0.04' },
      });
    }
  });
});

describe('an edit', () => {
  it.each([
    ['a data URI', () => dataUri('image/png', red)],
    ['a list of one data URI', () => [dataUri('image/png', red)]],
  ])('of %s shows the given picture in its own shape', async (_what, image) => {
    const picture = await pictureOf(await make({ prompt: 'Make it warmer', image: image() }));
    const { width, height } = await sharp(picture).metadata();
    expect(width / height).toBeCloseTo(1.5, 1);
    expect(await colourOf(picture, [10, 90])).toBe('red');
  });

  it('of several inputs from a URL and a data URI shows all of them, in their order', async () => {
    const asked: (string | undefined)[] = [];
    const host = await startHttp((request, response) => {
      asked.push(request.headers.authorization, request.headers.host);
      response.writeHead(200, { 'content-type': 'image/jpeg' }).end(green);
    });
    const inputs = [`${host}/green.jpg`, dataUri('image/png', red)];
    const picture = await pictureOf(await make({ image: inputs, aspect_ratio: '16:9' }));
    expect([await colourOf(picture, [10, 40]), await colourOf(picture, [60, 90])]).toEqual(['green', 'red']);
    expect(asked).toEqual([undefined, new URL(host).host]);
  });

  it('over MCP shows the given picture, and links to the result', async () => {
    const result = await assistant.callTool({
      name: 'create_image',
      arguments: { ...plain, image: dataUri('image/jpeg', green) },
    });
    const job = result.structuredContent as Body;
    expect(await colourOf(await pictureOf(job), [10, 90])).toBe('green');
    expect(result.content).toContainEqual(
      expect.objectContaining({ type: 'resource_link', uri: urlOf(job), mimeType: 'image/png' }),
    );
  });

  it('that is queued is made of the copy that was taken when it was asked for', async () => {
    let asked = 0;
    const host = await startHttp((_request, response) => {
      asked += 1;
      response.writeHead(200, { 'content-type': 'image/png' }).end(red);
    });
    const queued = await make({ image: `${host}/red.png` }, '?async=true');
    expect(asked).toBe(1);
    expect(await colourOf(await pictureOf(await untilEnd(queued['id'])), [10, 90])).toBe('red');
    expect(asked).toBe(1);
  });

  it('deletes its inputs when it ends', async () => {
    const job = await make({ image: dataUri('image/png', red) });
    const media = await gateway.services.store.listMedia(String(job['id']));
    expect(media.map(({ role }) => role)).toEqual(['input', 'image']);
    const [input] = media;
    expect(input?.expiresAt).toBeLessThanOrEqual(Date.now());
    expect((await fetch(`${gateway.url}/results/${input?.id}.png`)).status).toBe(410);
  });
});

describe('a result URL', () => {
  it('needs no key, says what it is and how long it lasts, and is gone after its time while the job is not', async () => {
    const job = await make();
    const url = urlOf(job);
    const name = /\/results\/([0-9A-Za-z]{43})\.png$/.exec(url);
    const response = await fetch(url);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'cache-control': 'public, max-age=86400, immutable',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'",
    });
    expect(Number(response.headers.get('content-length'))).toBe((await response.arrayBuffer()).byteLength);
    expect((await fetch(url.replace('.png', '.jpg'))).status).toBe(404);

    endMedia(gateway, [name?.[1] ?? '']);
    const gone = await fetch(url);
    expect([gone.status, await gone.json()]).toEqual([
      410,
      { error: expect.objectContaining({ type: 'invalid_request_error', code: 'content_expired' }) },
    ]);
    expect(await get(`/v1/jobs/${String(job['id'])}`)).toMatchObject({ status: 'done', data: [{ url }] });
  });
});

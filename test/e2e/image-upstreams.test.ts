import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startS3Server } from '../media/s3-server.ts';
import { dataUri, makeImage } from '../media/input-images.ts';
import { startHttp } from '../http/local-hosts.ts';
import { type StubUpstream } from '../providers/stub-upstream.ts';
import { connectAssistant } from './account-calls.ts';
import { endMedia } from './end-media.ts';
import { colourOf, imageCalls, pictureOf, plain, startImageGateway, urlOf } from './image-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let upstream: StubUpstream;
let images: Awaited<ReturnType<typeof startImageGateway>>;
let gateway: TestGateway;
/** The same with an account that buys real models. */
let selling: TestGateway;
let assistant: Client;
let red: Buffer;
let green: Buffer;

beforeAll(async () => {
  images = await startImageGateway();
  ({ upstream, gateway, selling } = images);
  assistant = await connectAssistant(gateway, gateway.apiKey);
  red = await makeImage('png', { width: 60, height: 40, colour: '#ff0000' });
  green = await makeImage('jpeg', { width: 60, height: 40, colour: '#00ff00' });
});

afterAll(async () => {
  await assistant.close();
  await images.stop();
});

const { make, available } = imageCalls(() => gateway);

describe('an OpenAI-compatible upstream', () => {
  const answer = async (revised?: string): Promise<Buffer> => {
    const bytes = await makeImage('webp', { colour: '#123456' });
    const image = {
      b64_json: bytes.toString('base64'),
      ...(revised === undefined ? {} : { revised_prompt: revised }),
    };
    upstream.script({ kind: 'images', images: [image] });
    return bytes;
  };

  it('draws by images.generate, and its picture is served as it is', async () => {
    const bytes = await answer('a tall lighthouse');
    const job = await make(
      { model: 'upstream-image', size: '1500x1000', custom_data: { private: true } },
      '',
      selling,
    );
    expect(upstream.requests.at(-1)).toMatchObject({ method: 'POST', path: '/v1/images/generations' });
    expect(upstream.requests.at(-1)?.body).toEqual({
      model: 'gpt-image-1',
      prompt: plain.prompt,
      n: 1,
      size: '1536x1024',
    });
    expect(job).toMatchObject({ model: 'upstream-image', data: [{ revised_prompt: 'a tall lighthouse' }] });
    expect(job).not.toHaveProperty('metadata');
    const served = await fetch(urlOf(job));
    expect(served.headers.get('content-type')).toBe('image/webp');
    expect(Buffer.from(await served.arrayBuffer()).equals(bytes)).toBe(true);
  });

  it('edits by images.edit, and gets the bytes of the images and never their addresses', async () => {
    const host = await startHttp((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/jpeg' }).end(green);
    });
    await answer();
    await make(
      { model: 'upstream-image', image: [dataUri('image/png', red), `${host}/green.jpg`] },
      '',
      selling,
    );
    const request = upstream.requests.at(-1);
    expect(request).toMatchObject({ method: 'POST', path: '/v1/images/edits' });
    const form = request?.body as FormData;
    expect([form.get('model'), form.get('prompt'), form.get('n')]).toEqual([
      'gpt-image-1',
      plain.prompt,
      '1',
    ]);
    const files = await Promise.all(
      (form.getAll('image[]') as File[]).map(async (file) => Buffer.from(await file.arrayBuffer())),
    );
    expect(files.map((file) => file.toString('base64'))).toEqual(
      [red, green].map((file) => file.toString('base64')),
    );
  });

  it('gets a GIF and an AVIF as PNG and JPEG, which all upstreams take, over REST and MCP', async () => {
    const avif = await makeImage('avif');
    const host = await startHttp((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/avif' }).end(avif);
    });
    const body = {
      model: 'upstream-image',
      image: [dataUri('image/gif', await makeImage('gif')), `${host}/a.avif`],
    };
    const sentTypes = (): string[] => {
      const form = upstream.requests.at(-1)?.body;
      return form instanceof FormData ? (form.getAll('image[]') as File[]).map(({ type }) => type) : [];
    };
    await answer();
    expect(await make(body, '', selling)).toMatchObject({ status: 'done' });
    expect(sentTypes()).toEqual(['image/png', 'image/jpeg']);
    const before = upstream.requests.length;
    await answer();
    const buyer = await connectAssistant(selling, selling.apiKey);
    onTestFinished(() => buyer.close());
    const result = await buyer.callTool({ name: 'create_image', arguments: { ...plain, ...body } });
    expect(result.structuredContent).toMatchObject({ status: 'done' });
    expect(upstream.requests.length).toBeGreaterThan(before);
    expect(sentTypes()).toEqual(['image/png', 'image/jpeg']);
  });

  it('that fails ends the job uncharged, in our own words', async () => {
    const before = await available();
    upstream.script({ kind: 'error', status: 400, message: 'secret upstream text' });
    const job = await make({ model: 'upstream-image' }, '', selling);
    expect(job).toMatchObject({ status: 'failed', data: [], error: { code: expect.any(String) } });
    expect(JSON.stringify(job)).not.toContain('secret upstream text');
    expect(await available()).toBe(before);
  });
});

describe('media in a bucket', () => {
  it('are made, served and swept through the whole gateway', async () => {
    const s3 = await startS3Server();
    onTestFinished(() => s3.stop());
    const dataDir = await mkdtemp(join(tmpdir(), 'causeway-images-'));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const environment = {
      DATA_DIR: dataDir,
      MEDIA_URL: `s3://${s3.config.bucket}/${s3.config.prefix.replace(/\/$/, '')}`,
      S3_ENDPOINT: s3.config.endpoint,
      S3_REGION: s3.config.region,
      S3_ACCESS_KEY_ID: s3.config.accessKeyId,
      S3_SECRET_ACCESS_KEY: s3.config.secretAccessKey,
    };
    const first = await startTestGateway({ environment });
    const mediaIn = async (): Promise<string[]> =>
      (await s3.contents()).filter((name) => !name.includes('used-since'));
    const making = make({ prompt: '[sandbox:slow=4]', image: dataUri('image/png', red) }, '', first);
    await expect.poll(mediaIn).toHaveLength(1);
    const [input] = /[0-9A-Za-z]{43}/.exec(String(await mediaIn())) ?? [];
    // A fault of the bucket is not a wrong address. The input is known a moment after its bytes are there.
    s3.intercept = ({ method }, response) => {
      if (method === 'HEAD') response.writeHead(400).end();
      return method === 'HEAD';
    };
    const statusOf = async (): Promise<number> => (await fetch(`${first.url}/results/${input}.png`)).status;
    await expect.poll(statusOf).toBe(500);
    s3.intercept = () => false;
    const job = await making;
    expect(await colourOf(await pictureOf(job), [10, 90])).toBe('red');
    const media = await first.services.store.listMedia(String(job['id']));
    expect(await mediaIn()).toHaveLength(2);
    endMedia(
      first,
      media.map(({ id }) => id),
    );
    expect((await fetch(urlOf(job))).status).toBe(410);
    await first.stop();

    // A start sweeps at once.
    const second = await startTestGateway({ environment });
    onTestFinished(() => second.stop());
    await expect.poll(mediaIn).toEqual([]);
    expect(s3.falseBodies).toEqual([]);
    const gone = await fetch(urlOf(job).replace(first.url, second.url));
    expect(gone.status).toBe(410);
  });
});

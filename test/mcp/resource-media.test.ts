import { rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { formatUsd } from '../../src/kit/money.ts';
import { openJob, opening, runningJob } from '../store/builders.ts';
import { clientKinds } from './clients.ts';
import { makeMedium, refusalOf, videoParameters, type Refusal } from './make-medium.ts';
import { startGateway, type TestGateway } from './start-gateway.ts';

const dayMs = 86_400_000;
const largestBlobBytes = 8 * 1024 ** 2;

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway({ env: { REQUESTS_PER_MINUTE: '1000000' } });
});
afterAll(() => gateway.close());

const contentOf = (videoId: string): string => `${gateway.url}/v1/videos/${videoId}/content`;

describe('a medium that cannot be put into a message', () => {
  const [kind] = clientKinds;
  const refused = async (uri: string): Promise<Refusal> => {
    const client = await kind!.connect(`${gateway.url}/mcp`, gateway.apiKey);
    try {
      return await refusalOf(client.readResource(uri));
    } finally {
      await client.close();
    }
  };
  const codeOf = ({ data }: Refusal): unknown => (data as { error: { code: string } }).error.code;

  it('is refused above eight mebibytes, with the address to download it from', async () => {
    const image = await makeMedium(gateway, { bytes: new Uint8Array(largestBlobBytes + 1) });
    const tooBig = await refused(image.url);
    expect(tooBig.message).toContain(`Download it: GET ${image.url}`);
    expect(tooBig.message).not.toContain('API key');
    const video = await makeMedium(gateway, {
      kind: 'video',
      role: 'video',
      contentType: 'video/mp4',
      bytes: new Uint8Array(largestBlobBytes + 1),
    });
    expect((await refused(contentOf(video.jobId))).message).toContain('with the API key');
  });

  it('is read whole at eight mebibytes', async () => {
    const { url } = await makeMedium(gateway, { bytes: new Uint8Array(largestBlobBytes) });
    const client = await kind!.connect(`${gateway.url}/mcp`, gateway.apiKey);
    const [image] = await client.readResource(url);
    expect(Buffer.from(image?.blob ?? '', 'base64')).toHaveLength(largestBlobBytes);
    await client.close();
  });

  it.each([
    ['lost', (file: string) => rm(file)],
    ['cut off', (file: string) => truncate(file, 1)],
  ])('is paid back once, when it is a video whose bytes were %s', async (_what, lose) => {
    const { store, config } = gateway.services;
    const video = await makeMedium(gateway, { kind: 'video', role: 'video', contentType: 'video/mp4' });
    const charged = (await store.getJob({ id: video.jobId, accountId: gateway.accountId }))?.charged ?? 0n;
    expect(charged).toBeGreaterThan(0n);
    const [row] = await store.listMedia(video.jobId);
    if (row === undefined) throw new Error('there is no medium');
    await lose(join(config.dataDir, 'media', row.id.slice(0, 2), row.id));
    for (let asked = 0; asked < 2; asked += 1) {
      const refusal = await refused(contentOf(video.jobId));
      expect(codeOf(refusal)).toBe('upstream_error');
      expect(refusal.message).toContain(`it is lost. The charge of $${formatUsd(charged)} was given back.`);
    }
    const job = await store.getJob({ id: video.jobId, accountId: gateway.accountId });
    expect(job).toMatchObject({ charged, refunded: charged });
  });

  it('is told to be gone after its time', async () => {
    const image = await makeMedium(gateway, { expiresAt: Date.now() - 1 });
    expect(codeOf(await refused(image.url))).toBe('content_expired');
    const removed = await makeMedium(gateway);
    const ids = (await gateway.services.store.listMedia(removed.jobId)).map(({ id }) => id);
    await gateway.services.store.markMediaRemoved({ ids, now: Date.now() });
    expect(codeOf(await refused(removed.url))).toBe('content_expired');
    const video = await makeMedium(gateway, {
      kind: 'video',
      role: 'video',
      contentType: 'video/mp4',
      expiresAt: Date.now() - 1,
    });
    expect(codeOf(await refused(contentOf(video.jobId)))).toBe('content_expired');
  });

  it('is told to be not completed while its video is made', async () => {
    const now = Date.now();
    const job = runningJob(
      { accountId: gateway.accountId, keyId: gateway.keyId },
      {
        kind: 'video',
        leaseUntil: now + dayMs,
        deadlineAt: now + dayMs,
        parameters: JSON.stringify(videoParameters),
      },
    );
    await openJob(gateway.services.store, opening(job, { now }));
    expect(codeOf(await refused(contentOf(job.id)))).toBe('video_not_completed');
  });
});

describe('a medium in a message', () => {
  it('takes memory for its bytes until the answer is out', async () => {
    const taken: number[] = [];
    const given: number[] = [];
    const { bodyMemory } = gateway.services;
    gateway.services.bodyMemory = {
      usage: () => ({ usedBytes: 0, waiting: 0 }),
      reserve: async (bytes) => {
        taken.push(bytes);
        return () => given.push(bytes);
      },
    };
    onTestFinished(() => {
      gateway.services.bodyMemory = bodyMemory;
    });
    const { url } = await makeMedium(gateway, { bytes: new Uint8Array(1_000_000) });
    const client = await clientKinds[0]!.connect(`${gateway.url}/mcp`, gateway.apiKey);
    await client.readResource('causeway://models');
    expect(taken).toEqual([]);
    await client.readResource(url);
    expect(taken).toHaveLength(1);
    expect(taken[0]).toBeGreaterThan(5_000_000);
    await expect.poll(() => given).toEqual(taken);
    await client.close();
  });
});

import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { unboundedMemory } from '../../src/limits/request-memory.ts';
import { createPreviewOf, previewIdOf } from '../../src/operations/images/preview-image.ts';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { connectAssistant, image } from './account-calls.ts';
import { endMedia } from './end-media.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const { log, lines } = createRecordedLog();
let gateway: TestGateway;
let assistant: Awaited<ReturnType<typeof connectAssistant>>;

beforeAll(async () => {
  gateway = await startTestGateway({ log });
  assistant = await connectAssistant(gateway, gateway.apiKey);
});
afterAll(async () => {
  await assistant.close();
  await gateway.stop();
});

const toolResult = z.object({
  content: z.array(
    z.object({ type: z.string(), data: z.base64().optional(), mimeType: z.string().optional() }),
  ),
  structuredContent: z.object({
    id: z.string(),
    status: z.string(),
    data: z.array(z.object({ url: z.url() })),
    usage: z.object({ cost_usd: z.string().optional() }),
  }),
});

const call = async (name: string, input: Record<string, unknown>) => {
  const { content, structuredContent: job } = toolResult.parse(
    await assistant.callTool({ name, arguments: input }),
  );
  const blocks = content.filter(({ type }) => type === 'image');
  const mediumId = /results\/(\w+)/.exec(job.data[0]?.url ?? '')?.[1] ?? '';
  return { job, mediumId, types: content.map(({ type }) => type), blocks };
};
const make = () => call('create_image', image);
const fileOf = (id: string): string => join(gateway.services.config.dataDir, 'media', id.slice(0, 2), id);

describe('the answer of an image job over MCP', () => {
  it('shows the picture as one small block beside its link, the same at every read', async () => {
    const made = await make();
    expect(made.types).toEqual(['text', 'resource_link', 'image']);
    const [block] = made.blocks;
    expect([block?.mimeType, (block?.data ?? '').length <= 80_000]).toEqual(['image/webp', true]);
    const shown = await sharp(Buffer.from(block?.data ?? '', 'base64')).metadata();
    expect(Math.max(shown.width, shown.height)).toBeLessThanOrEqual(1024);
    expect((await call('get_job', { job_id: made.job.id })).blocks).toEqual(made.blocks);
  });

  it('has no picture before the job is done', async () => {
    const queued = await call('create_image', { ...image, async: true });
    expect(queued.types).toEqual(['text']);
    const done = await call('get_job', { job_id: queued.job.id, wait_ms: 20_000 });
    expect(done.types).toEqual(['text', 'resource_link', 'image']);
  });

  it('makes the picture once, and keeps it as long as the image', async () => {
    const { job, mediumId, blocks } = await make();
    const { store } = gateway.services;
    const [original, kept] = [await store.getMedia(mediumId), await store.getMedia(previewIdOf(mediumId))];
    expect(kept).toMatchObject({ expiresAt: original?.expiresAt, jobId: null, removedAt: null });
    await rm(fileOf(mediumId));
    expect((await call('get_job', { job_id: job.id })).blocks).toEqual(blocks);
    expect((await fetch(`${gateway.url}/results/${previewIdOf(mediumId)}.webp`)).status).toBe(404);
    endMedia(gateway, [mediumId]);
    expect((await call('get_job', { job_id: job.id })).blocks).toEqual([]);
  });

  it('stays below the limit for the picture that takes the most', async () => {
    const { job, mediumId } = await make();
    const side = 1_200;
    const noise = sharp(randomBytes(side * side * 3), { raw: { width: side, height: side, channels: 3 } });
    await writeFile(fileOf(mediumId), await noise.png().toBuffer());
    await rm(fileOf(previewIdOf(mediumId)));
    const [block] = (await call('get_job', { job_id: job.id })).blocks;
    expect(block?.data?.length).toBeGreaterThan(1_000);
    expect(block?.data?.length).toBeLessThanOrEqual(80_000);
  });

  it('is charged and has its link when the picture cannot be made', async () => {
    const { job, mediumId } = await make();
    await writeFile(fileOf(mediumId), 'no picture');
    await rm(fileOf(previewIdOf(mediumId)));
    const read = await call('get_job', { job_id: job.id });
    expect(read.types).toEqual(['text', 'resource_link']);
    expect(read.job).toMatchObject({ status: 'done', usage: { cost_usd: job.usage.cost_usd } });
    expect(JSON.stringify(lines)).toContain('an image is answered without its small form');
  });

  it('is made at most once a minute while it cannot be kept, which is logged, and is kept later', async () => {
    const { job, mediumId } = await make();
    const file = fileOf(previewIdOf(mediumId));
    const read = async (): Promise<number> => (await call('get_job', { job_id: job.id })).blocks.length;
    await rm(file);
    // A folder cannot be replaced by a file.
    await mkdir(join(file, 'in-the-way'), { recursive: true });
    const open = gateway.services.media.read;
    vi.spyOn(gateway.services.media, 'read').mockImplementation((id, options) =>
      id === previewIdOf(mediumId) ? Promise.resolve(null) : open(id, options),
    );
    expect([await read(), await read()]).toEqual([1, 0]);
    vi.restoreAllMocks();
    expect(JSON.stringify(lines)).toContain('the small form of an image was not kept');
    await rm(file, { recursive: true });
    const { services } = gateway;
    const previewOf = createPreviewOf(services);
    const caller = { memory: unboundedMemory, signal: new AbortController().signal };
    expect(await previewOf(job.data[0]?.url ?? '', caller)).not.toBeNull();
    // The row of the first writing is there, and so is the file now.
    expect(await read()).toBe(1);
  });
});

import { readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toJobAnswer } from '../../src/operations/jobs/job-answer.ts';
import { toVideoAnswer } from '../../src/operations/videos/video-answer.ts';
import { createFilms } from '../../src/operations/videos/films.ts';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { connectAssistant, openCustomer, read, tool, type Body } from './account-calls.ts';
import { endMedia } from './end-media.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const order = { model: 'videomodel-2.0', prompt: 'A ferry at noon', duration: 4, resolution: '480p' };
const { log, lines } = createRecordedLog();

let gateway: TestGateway;
let customer: Awaited<ReturnType<typeof openCustomer>>;
let film: { id: string; url: string; token: string };

const makeFilm = async (): Promise<typeof film> => {
  const assistant = await connectAssistant(gateway, customer.apiKey);
  const begun = await tool(assistant, 'create_video', order);
  const ended = await tool(assistant, 'get_video', { video_id: begun['id'], wait_ms: 45_000 });
  await assistant.close();
  expect([begun['film_url'], ended['status']]).toEqual([null, 'completed']);
  const url = String(ended['film_url']);
  return { id: String(ended['id']), url, token: url.slice(url.lastIndexOf('/') + 1) };
};

beforeAll(async () => {
  gateway = await startTestGateway({ log });
  customer = await openCustomer(gateway);
  film = await makeFilm();
});
afterAll(() => gateway.stop());

const videoMedium = async ({ id }: { id: string }): Promise<string> =>
  (await gateway.services.store.listMedia(id)).find(({ role }) => role === 'video')?.id ?? '';

describe('the address of a film', () => {
  it('opens in a browser without a key, and keeps itself to those who have it', async () => {
    const answer = await fetch(film.url, { headers: { origin: 'https://other.example' } });
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'video/mp4',
      'content-disposition': `inline; filename="${film.id}.mp4"`,
      'content-length': String(bytes.length),
      'accept-ranges': 'bytes',
      'cache-control': 'private',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
      'x-content-type-options': 'nosniff',
    });
    expect(answer.headers.has('access-control-allow-origin')).toBe(false);
    const keyed = await gateway.call(`/v1/videos/${film.id}/content`, { apiKey: customer.apiKey });
    expect(Buffer.from(await keyed.arrayBuffer()).equals(bytes)).toBe(true);
    expect((await fetch(`${gateway.url}/v1/videos/${film.id}/content`)).status).toBe(401);
  });

  it('answers HEAD, one range, and 416 to a range beyond the end', async () => {
    const head = await fetch(film.url, { method: 'HEAD' });
    const size = Number(head.headers.get('content-length'));
    expect([head.status, size > 1_000]).toEqual([200, true]);
    const part = await fetch(film.url, { headers: { range: 'bytes=4-7' } });
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
      206,
      `bytes 4-7/${size}`,
      'ftyp',
    ]);
    const beyond = await fetch(film.url, { headers: { range: `bytes=${size}-` } });
    expect([beyond.status, beyond.headers.get('referrer-policy')]).toEqual([416, 'no-referrer']);
    expect((await fetch(film.url, { method: 'POST' })).status).toBe(405);
  });

  it('is the same at every read, over REST and over MCP, where it is the link of the film', async () => {
    const path = `/v1/videos/${film.id}`;
    expect((await read(gateway, path, customer.apiKey))['film_url']).toBe(film.url);
    const assistant = await connectAssistant(gateway, customer.apiKey);
    const readings: [string, Body][] = [
      ['get_video', { video_id: film.id }],
      ['get_video_content', { video_id: film.id }],
      ['get_job', { job_id: film.id }],
    ];
    for (const [name, input] of readings) {
      const { content } = await assistant.callTool({ name, arguments: input });
      expect([name, content]).toEqual([
        name,
        expect.arrayContaining([expect.objectContaining({ type: 'resource_link', uri: film.url })]),
      ]);
    }
    const [medium] = (await assistant.readResource({ uri: film.url })).contents;
    expect(medium).toMatchObject({ uri: film.url, mimeType: 'video/mp4', blob: expect.any(String) });
    await assistant.close();
  });

  it('is no resource of another account', async () => {
    const stranger = await connectAssistant(gateway, gateway.apiKey);
    await expect(stranger.readResource({ uri: film.url })).rejects.toThrow(/not found/i);
    await stranger.close();
  });

  it('cannot be made of another one, or by another deployment', async () => {
    const other = createFilms({ secret: 'another secret', publicUrl: () => gateway.url });
    const last = film.token.endsWith('A') ? 'B' : 'A';
    const wrong = [
      other.urlOf(film.id),
      film.url.slice(0, -1) + last,
      `${gateway.url}/films/${film.id}`,
      `${film.url}A`,
    ];
    for (const url of wrong) {
      const answer = await fetch(url);
      expect([answer.status, answer.headers.get('x-robots-tag')]).toEqual([404, 'noindex']);
    }
  });

  it('is in no log and in no file of the gateway', async () => {
    await fetch(`${gateway.url}//films/${film.token}`);
    await fetch(`${gateway.url}/%66ilms/${film.token}`);
    await fetch(`${gateway.url}/films%2F${film.token}`);
    await expect.poll(() => JSON.stringify(lines)).toContain('/films/*');
    const secret = film.token.slice(-40);
    expect(JSON.stringify(lines)).not.toContain(secret);
    const { dataDir } = gateway.services.config;
    const files = (await readdir(dataDir, { recursive: true, withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    );
    expect(files.length).toBeGreaterThan(1);
    for (const { parentPath, name } of files)
      expect([name, (await readFile(join(parentPath, name))).includes(secret)]).toEqual([name, false]);
  });

  it('ends while its account is suspended', async () => {
    const { accountId: id } = customer;
    const { store } = gateway.services;
    await store.setAccountStatus({ id, status: 'suspended', now: Date.now() });
    expect((await fetch(film.url)).status).toBe(404);
    await store.setAccountStatus({ id, status: 'active', now: Date.now() });
    expect((await fetch(film.url, { method: 'HEAD' })).status).toBe(200);
  });

  it('answers 410 when the time of the film is over', async () => {
    const ended = await makeFilm();
    endMedia(gateway, [await videoMedium(ended)]);
    const answer = await fetch(ended.url);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([410, 'no-store']);
    expect(await answer.json()).toMatchObject({ error: { code: 'content_expired' } });
  });

  it('is in the answers about its video, and linked, until its content expires', async () => {
    const { services } = gateway;
    const job = await services.store.getJob({ id: film.id, accountId: customer.accountId });
    if (job === null) throw new Error('there is no such job');
    const expiresAt = (job.finishedAt ?? 0) + 23 * 3_600_000;
    for (const [time, urls] of [
      [expiresAt - 1, [film.url]],
      [expiresAt, []],
    ] as const) {
      const at = { ...services, clock: { now: () => time } };
      const video = await toVideoAnswer(job, 200, at);
      expect(video.body['film_url']).toBe(urls[0] ?? null);
      for (const { links } of [video, await toJobAnswer(job, 200, at)])
        expect(links.map(({ url }) => url)).toEqual(urls);
    }
  });

  it('gives the charge back when the bytes are lost', async () => {
    const lost = await makeFilm();
    const id = await videoMedium(lost);
    await rm(join(gateway.services.config.dataDir, 'media', id.slice(0, 2), id));
    const answer = await fetch(lost.url);
    expect(answer.status).toBe(502);
    expect(await answer.json()).toMatchObject({
      error: { message: expect.stringContaining('The charge of $0.08 was given back.') },
    });
  });
});

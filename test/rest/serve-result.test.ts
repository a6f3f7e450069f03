import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMediaLibrary, type MediaLibrary } from '../../src/media/media-library.ts';
import { writeError } from '../../src/kit/write-answer.ts';
import { createServeResult } from '../../src/rest/serve-result.ts';
import type { MediaRole } from '../../src/store/store.ts';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { listenOnLoopback, type Listening } from '../mcp/listen-on-loopback.ts';
import { openDiskFiles, type TestFiles } from '../media/open-test-files.ts';
import { addAccount, finishing, openJob, opening, runningJob, start, type Owner } from '../store/builders.ts';
import { testEngines, type TestStore } from '../store/open-test-store.ts';

const bytes = Buffer.from(Array.from({ length: 3_000 }, (_, index) => index % 251));
const signal = new AbortController().signal;
const hourMs = 3_600_000;

describe.each(testEngines())('a result URL on $kind', ({ create }) => {
  let test: TestStore;
  let place: TestFiles;
  let library: MediaLibrary;
  let server: Listening;
  let owner: Owner;
  let now = start;

  beforeAll(async () => {
    [test, place] = await Promise.all([create(), openDiskFiles()]);
    owner = await addAccount(test.store);
    const clock = { now: () => now };
    library = createMediaLibrary({
      store: test.store,
      files: place.files,
      clock,
      publicUrl: () => server.url,
    });
    const { log } = createRecordedLog();
    const serveResult = createServeResult({ store: test.store, media: library, clock });
    server = await listenOnLoopback(
      createServer((request, response) => {
        const name = (request.url ?? '').replace('/results/', '');
        serveResult(name, { request, response, clientAddress: '192.0.2.1' }).catch((error: unknown) =>
          writeError(response, error, { log, requestId: 'req_1' }),
        );
      }),
    );
  });
  afterAll(async () => {
    await server.close();
    await Promise.all([test.remove(), place.remove()]);
  });

  const save = (role: MediaRole, contentType: string) =>
    library.save({ accountId: owner.accountId, role, contentType, source: bytes, signal });

  /** The URL of a medium that a finished job has. */
  const finishWith = async (role: MediaRole, contentType: string, keepMs = 48 * hourMs): Promise<string> => {
    const saved = await save(role, contentType);
    const jobId = await openJob(test.store, opening(runningJob(owner), { hold: 1n }));
    const medium = { ...saved, accountId: owner.accountId, jobId, expiresAt: now + keepMs };
    await test.store.finishJob(finishing(jobId, { media: [medium], charge: 0n, now }));
    return saved.url;
  };

  const statusAndCode = async (url: string, init: RequestInit = {}): Promise<unknown[]> => {
    const answer = await fetch(url, init);
    const body = (await answer.json()) as { error: { code: string } };
    return [answer.status, body.error.code];
  };

  it('is answered without a key, with the type of the bytes and their time left', async () => {
    const url = await finishWith('image', 'image/jpeg', hourMs);
    expect(url).toMatch(/\/results\/[0-9A-Za-z]{43}\.jpg$/);
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/jpeg',
      'content-length': '3000',
      'cache-control': 'public, max-age=3600, immutable',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'",
      'accept-ranges': 'bytes',
    });
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
  });

  it('accepts HEAD, a range, and the tag of the last answer', async () => {
    const url = await finishWith('image', 'image/png');
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '3000', '']);
    expect(head.headers.get('cache-control')).toBe('public, max-age=86400, immutable');
    const part = await fetch(url, { headers: { range: 'bytes=-10' } });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 2990-2999/3000']);
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(2990))).toBe(true);
    expect(await statusAndCode(url, { headers: { range: 'bytes=3000-' } })).toEqual([
      416,
      'range_not_satisfiable',
    ]);
    const again = await fetch(url, { headers: { 'if-none-match': head.headers.get('etag') ?? '' } });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  it('serves images and inputs only; only its owner may read a video', async () => {
    expect((await fetch(await finishWith('image', 'image/webp'))).status).toBe(200);
    expect(await statusAndCode(await finishWith('video', 'video/mp4'))).toEqual([404, 'not_found']);
    expect(await statusAndCode(await finishWith('last_frame', 'image/png'))).toEqual([404, 'not_found']);
  });

  it('of an input is answered while its job runs, with its length', async () => {
    const saved = await save('input', 'audio/mpeg');
    expect(await statusAndCode(saved.url)).toEqual([404, 'not_found']);
    const jobId = await openJob(test.store, opening(runningJob(owner), { hold: 1n, inputs: [saved.id] }));
    const answer = await fetch(saved.url, { headers: { range: 'bytes=1-2' } });
    expect([answer.status, answer.headers.get('content-range')]).toEqual([206, 'bytes 1-2/3000']);
    expect((await fetch(saved.url)).headers.get('content-length')).toBe('3000');
    await test.store.finishJob(finishing(jobId, { charge: 0n, now }));
    expect(await statusAndCode(saved.url)).toEqual([410, 'content_expired']);
  });

  it('answers 410 when it has expired, even if the bytes still exist', async () => {
    const url = await finishWith('image', 'image/png', hourMs);
    now += hourMs;
    expect(await statusAndCode(url)).toEqual([410, 'content_expired']);
    now = start;
    expect((await fetch(url)).status).toBe(200);
    const id = /(\w{43})\.png$/.exec(url)?.[1] ?? '';
    await test.store.markMediaRemoved({ ids: [id], now });
    expect(await statusAndCode(url)).toEqual([410, 'content_expired']);
  });

  it('answers 502 if the bytes are lost', async () => {
    const url = await finishWith('image', 'image/png');
    await place.files.remove(/(\w{43})\.png$/.exec(url)?.[1] ?? '');
    expect(await statusAndCode(url)).toEqual([502, 'upstream_error']);
    const input = await save('input', 'image/png');
    await openJob(test.store, opening(runningJob(owner), { hold: 1n, inputs: [input.id] }));
    await place.files.remove(input.id);
    expect(await statusAndCode(input.url)).toEqual([502, 'upstream_error']);
  });

  it('is found only under its exact name', async () => {
    const url = await finishWith('image', 'image/png');
    for (const other of [
      url.replace('.png', '.jpg'),
      url.replace('.png', ''),
      `${url}x`,
      url.replace(/\w{43}/, 'a'.repeat(43)),
      `${server.url}/results/..%2f..%2fetc%2fpasswd`,
    ])
      expect(await statusAndCode(other)).toEqual([404, 'not_found']);
  });
});

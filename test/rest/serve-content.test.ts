import { mkdir, mkdtemp, rm, truncate } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDiskMedia } from '../../src/media/disk-media.ts';
import type { MediaFiles } from '../../src/media/media-files.ts';
import { createS3Media } from '../../src/media/s3/s3-media.ts';
import { silentLog } from '../../src/kit/log.ts';
import type { Media } from '../../src/store/store.ts';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { listenOnLoopback, type Listening } from '../mcp/listen-on-loopback.ts';
import { startS3Server } from '../media/s3-server.ts';
import { createContentServer, newMedia, now, type ContentServerOptions } from './serve-media.ts';

const bytes = Buffer.from(Array.from({ length: 5_000 }, (_, index) => index % 251));
const signal = new AbortController().signal;

let folder: string;
let files: MediaFiles;
let media: Map<string, Media>;
let server: Listening;
let logged: ReturnType<typeof createRecordedLog>;

const start = async ({
  from = files,
  ...options
}: Partial<ContentServerOptions> & { from?: MediaFiles } = {}): Promise<void> => {
  logged = createRecordedLog();
  const { log } = logged;
  server = await listenOnLoopback(
    createContentServer({ files: from, log, streams: 10, fileName: 'video.mp4', media, ...options }),
  );
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-content-'));
  files = createDiskMedia(folder);
  media = new Map();
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const keep = async (content: Uint8Array, changes: Partial<Media> = {}, to = files): Promise<Media> => {
  const kept = newMedia(content.byteLength, changes);
  await to.write(kept.id, content, { contentType: kept.contentType, signal });
  media.set(kept.id, kept);
  return kept;
};

const get = ({ id }: Media, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
  fetch(`${server.url}/${id}`, { headers, method });

const bodyOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());

/** A reader that takes nothing but what is read from it by hand. */
const openSlowReader = async (...of: Media[]): Promise<Socket> => {
  const { hostname, port } = new URL(server.url);
  const socket = createConnection({ host: hostname, port: Number(port) });
  socket.on('error', () => {});
  for (const { id } of of) socket.write(`GET /${id} HTTP/1.1\r\nhost: x\r\n\r\n`);
  await once(socket, 'readable');
  return socket;
};

/** More than the buffers between two sockets take. */
const large = Buffer.alloc(64 * 1024 ** 2);

describe('the content of a video', () => {
  it('is answered completely, with all headers that a player needs', async () => {
    await start();
    const kept = await keep(bytes);
    const answer = await get(kept);
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'video/mp4',
      'content-length': '5000',
      'accept-ranges': 'bytes',
      etag: `"${kept.id}"`,
      'content-disposition': 'attachment; filename="video.mp4"',
      'cache-control': 'private',
      'x-content-type-options': 'nosniff',
    });
    expect(answer.headers.has('content-range')).toBe(false);
    expect((await bodyOf(answer)).equals(bytes)).toBe(true);
  });

  it.each([
    ['bytes=0-0', 0, 0],
    ['bytes=100-199', 100, 199],
    ['bytes=4990-', 4990, 4999],
    ['bytes=4990-9999', 4990, 4999],
    ['bytes=-7', 4993, 4999],
    ['bytes=0-', 0, 4999],
  ])('is answered in part for "%s"', async (range, first, last) => {
    await start();
    const answer = await get(await keep(bytes), { range });
    expect(answer.status).toBe(206);
    expect(answer.headers.get('content-range')).toBe(`bytes ${first}-${last}/5000`);
    expect(answer.headers.get('content-length')).toBe(String(last - first + 1));
    expect((await bodyOf(answer)).equals(bytes.subarray(first, last + 1))).toBe(true);
  });

  it.each(['bytes=5000-', 'bytes=7-3', 'bytes=0-1,3-4', 'bytes=x-', 'bananas', 'bytes=-0'])(
    'is refused for "%s"',
    async (range) => {
      await start();
      const answer = await get(await keep(bytes), { range });
      expect(answer.status).toBe(416);
      expect(answer.headers.get('content-range')).toBe('bytes */5000');
      expect(await answer.json()).toMatchObject({
        error: { type: 'invalid_request_error', code: 'range_not_satisfiable' },
      });
    },
  );

  it('is answered in part under If-Range only when its tag is the one that was sent', async () => {
    await start();
    const kept = await keep(bytes);
    const statusFor = async (ifRange: string, range = 'bytes=0-9'): Promise<number> => {
      const answer = await get(kept, { range, 'if-range': ifRange });
      await answer.arrayBuffer();
      return answer.status;
    };
    expect(await statusFor(`"${kept.id}"`)).toBe(206);
    expect(await statusFor('"another"')).toBe(200);
    expect(await statusFor(`W/"${kept.id}"`)).toBe(200);
    expect(await statusFor(new Date(now).toUTCString())).toBe(200);
    expect(await statusFor('"another"', 'bytes=9999-')).toBe(200);
  });

  it('is not sent again to a reader that has it', async () => {
    await start();
    const kept = await keep(bytes);
    for (const tag of [`"${kept.id}"`, `W/"${kept.id}"`, `"another", "${kept.id}"`, '*']) {
      const answer = await get(kept, { 'if-none-match': tag, range: 'bytes=0-9' });
      expect(answer.status).toBe(304);
      expect(answer.headers.get('etag')).toBe(`"${kept.id}"`);
      expect(await answer.text()).toBe('');
    }
    expect((await get(kept, { 'if-none-match': '"another"' })).status).toBe(200);
  });

  it('sends its length to HEAD, without bytes, for any range', async () => {
    await start();
    const kept = await keep(bytes);
    for (const headers of [{}, { range: 'bytes=0-9' }, { range: 'bananas' }] as Record<string, string>[]) {
      const answer = await get(kept, headers, 'HEAD');
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-length')).toBe('5000');
      expect(answer.headers.get('accept-ranges')).toBe('bytes');
      expect(await answer.text()).toBe('');
    }
  });

  it('of no bytes is answered, and has no range', async () => {
    await start();
    const kept = await keep(Buffer.alloc(0));
    const whole = await get(kept);
    expect([whole.status, await whole.text()]).toEqual([200, '']);
    const part = await get(kept, { range: 'bytes=0-' });
    expect([part.status, part.headers.get('content-range')]).toEqual([416, 'bytes */0']);
  });

  it('is saved under its given name, with any characters in it', async () => {
    await start({ fileName: 'a "naïve"\r\nname/视频.mp4' });
    const answer = await get(await keep(bytes));
    expect(answer.headers.get('content-disposition')).toBe(
      `attachment; filename="a _na_ve___name___.mp4"; ` +
        `filename*=UTF-8''a%20%22na%C3%AFve%22%0D%0Aname%2F%E8%A7%86%E9%A2%91.mp4`,
    );
  });

  it('is refused with 502 when not one of its bytes can be read', async () => {
    await start();
    const missing = newMedia(5_000);
    const [cut, replaced] = [await keep(bytes), await keep(bytes)];
    media.set(missing.id, missing);
    await truncate(join(folder, cut.id.slice(0, 2), cut.id), 100);
    const path = join(folder, replaced.id.slice(0, 2), replaced.id);
    await rm(path);
    await mkdir(path);
    for (const [of, headers] of [
      [missing, {}],
      [cut, { range: 'bytes=200-' }],
      [replaced, {}],
    ] as const) {
      const answer = await get(of, headers);
      expect(answer.status).toBe(502);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(await answer.json()).toEqual({
        error: {
          type: 'server_error',
          code: 'upstream_error',
          message: 'The content could not be read. Try again.',
        },
      });
    }
    expect(logged.lines).toHaveLength(3);
    expect(dirname(path).startsWith(folder)).toBe(true);
  });

  it('that ends too soon ends the connection, so that the reader notices', async () => {
    await start({ from: { ...files, read: async () => Readable.from([bytes.subarray(0, 4_000)]) } });
    const kept = await keep(bytes);
    const answer = await get(kept);
    expect(answer.status).toBe(200);
    await expect(bodyOf(answer)).rejects.toThrow(/terminated/);
    expect(logged.lines).toMatchObject([{ code: 'upstream_error' }]);
  });

  it('that its bucket breaks off ends the connection, so that the reader notices', async () => {
    const s3 = await startS3Server();
    const bucket = createS3Media(s3.config, { log: silentLog, spool: s3.spool });
    await start({ from: bucket });
    const kept = await keep(bytes, {}, bucket);
    expect((await bodyOf(await get(kept, { range: 'bytes=10-19' }))).equals(bytes.subarray(10, 20))).toBe(
      true,
    );
    s3.intercept = (request, response) => {
      response.writeHead(206, { 'content-length': 5_000, 'content-range': 'bytes 0-4999/5000' });
      response.write(bytes.subarray(0, 2_000), () => request.socket.destroy());
      return true;
    };
    const answer = await get(kept);
    await expect(bodyOf(answer)).rejects.toThrow(/terminated/);
    expect(logged.lines).toMatchObject([{ code: 'upstream_error' }]);
    s3.intercept = (request) => {
      request.socket.destroy();
      return true;
    };
    expect((await get(kept)).status).toBe(502);
    await bucket.close();
    await s3.stop();
  });

  it('is streamed to a limited number of readers at once; the next one gets Retry-After', async () => {
    await start({ streams: 2 });
    const [first, second] = [await keep(large, { accountId: 'a' }), await keep(large, { accountId: 'b' })];
    const small = await keep(bytes);
    const readers = [await openSlowReader(first), await openSlowReader(second)];
    const refused = await get(small);
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ error: { code: 'overloaded' } });
    expect((await get(small, {}, 'HEAD')).status).toBe(200);
    expect((await get(small, { range: 'bananas' })).status).toBe(416);
    readers[0]?.destroy();
    await expect.poll(async () => (await get(small)).status).toBe(200);
    readers[1]?.destroy();
  });

  it('is streamed to at most a quarter of the readers for one account', async () => {
    await start({ streams: 8 });
    const theirs = await keep(large, { accountId: 'greedy' });
    const [small, other] = [await keep(bytes, { accountId: 'greedy' }), await keep(bytes)];
    const readers = [await openSlowReader(theirs), await openSlowReader(theirs)];
    const refused = await get(small);
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([503, true]);
    expect(await refused.json()).toMatchObject({ error: { code: 'overloaded' } });
    expect((await get(other)).status).toBe(200);
    readers[0]?.destroy();
    await expect.poll(async () => (await get(small)).status).toBe(200);
    readers[1]?.destroy();
  });

  it('is cut off for a reader below the minimum rate that is never silent for long', async () => {
    const slices = Array.from({ length: 1_024 }, () => Buffer.alloc(64 * 1024));
    const read: MediaFiles['read'] = async () => Readable.from(slices);
    await start({ stalledMs: 1_000, leastBytesPerSecond: 1024 ** 3, from: { ...files, read } });
    const kept = newMedia(large.byteLength);
    media.set(kept.id, kept);
    const reader = await openSlowReader(kept);
    const closed = once(reader, 'close');
    const sipping = setInterval(() => reader.read(200 * 1024) ?? reader.read(), 20);
    await closed;
    clearInterval(sipping);
    expect(reader.bytesRead).toBeLessThan(large.byteLength);
    expect(logged.lines).toEqual([]);
  });

  it('continues for a reader that waits for slow bytes, for any time', async () => {
    const slowly = async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      // Longer than a reader may stall.
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      yield* source;
    };
    const read: MediaFiles['read'] = async (id, options) => {
      const source = await files.read(id, options);
      return source === null ? null : Readable.from(slowly(source));
    };
    await start({ stalledMs: 2_000, leastBytesPerSecond: 1024 ** 3, from: { ...files, read } });
    const long = Buffer.alloc(512 * 1024, 7);
    const answer = await get(await keep(long));
    expect((await bodyOf(answer)).equals(long)).toBe(true);
  });

  it('is released for a reader that requested it twice on one connection and left', async () => {
    await start({ streams: 2 });
    const [first, second] = [await keep(large, { accountId: 'a' }), await keep(large, { accountId: 'b' })];
    const small = [await keep(bytes, { accountId: 'a' }), await keep(bytes, { accountId: 'b' })];
    const reader = await openSlowReader(first, second);
    for (const each of small) await expect.poll(async () => (await get(each)).status).toBe(503);
    reader.destroy();
    for (const each of small) await expect.poll(async () => (await get(each)).status).toBe(200);
  });

  it('is cut off for a reader that stalls', async () => {
    await start({ streams: 1, stalledMs: 150 });
    const [kept, small] = [await keep(large), await keep(bytes)];
    const reader = await openSlowReader(kept);
    await expect.poll(async () => (await get(small)).status, { timeout: 60_000 }).toBe(200);
    const closed = once(reader, 'close');
    reader.resume();
    await closed;
    expect(reader.bytesRead).toBeLessThan(large.byteLength);
  });

  it('is not cut off for a slow reader that continues', async () => {
    await start({ stalledMs: 4_000 });
    const kept = await keep(large);
    const reader = await openSlowReader(kept);
    for (let count = 0; count < 10; count += 1) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      for (let taken = 0; taken < 4 * 1024 ** 2;) {
        const chunk = reader.read() as Buffer | null;
        if (chunk === null) await once(reader, 'readable');
        else taken += chunk.byteLength;
      }
    }
    expect(reader.destroyed).toBe(false);
    reader.destroy();
  });
});

import { createServer, get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLog } from '../../src/kit/log.ts';
import { writeError } from '../../src/kit/write-answer.ts';
import { createServeResult } from '../../src/rest/serve-result.ts';
import { listenOnLoopback, type Listening } from '../mcp/listen-on-loopback.ts';
import { newMedia, now } from './serve-media.ts';

const result = newMedia(2, { role: 'image', contentType: 'image/png' });

let server: Listening;
/** The answers that are open; each ends with `close`. */
let readers: IncomingMessage[];

/** Results that begin and never end, for the client that a header names. */
beforeEach(async () => {
  readers = [];
  const serveResult = createServeResult({
    store: { getMedia: async () => result },
    media: {
      size: async () => result.sizeBytes,
      read: async (_id, options) => {
        const bytes = new Readable({ signal: options?.signal, read: () => undefined });
        bytes.push('x');
        return bytes;
      },
    },
    clock: { now: () => now },
    streams: 8,
  });
  server = await listenOnLoopback(
    createServer((request, response) => {
      const clientAddress = String(request.headers['x-client']);
      serveResult(`${result.id}.png`, { request, response, clientAddress }).catch((error: unknown) =>
        writeError(response, error, { log: silentLog, requestId: 'req_1' }),
      );
    }),
  );
});
afterEach(async () => {
  for (const reader of readers) reader.destroy();
  await server.close();
});

const open = async (client: string): Promise<number | undefined> => {
  const asked = get(server.url, { headers: { 'x-client': client }, agent: false });
  asked.on('error', () => undefined);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.on('error', () => undefined);
  readers.push(answer);
  return answer.statusCode;
};

it('readers of one network get at most a quarter of the streams', async () => {
  expect(await open('2001:db8::1')).toBe(200);
  expect(await open('2001:db8::2')).toBe(200);
  expect(await open('2001:db8::3')).toBe(503);
  expect(readers.at(-1)?.headers['retry-after']).toMatch(/^[1-9]/);
  expect(await open('2001:db8:1::1')).toBe(200);
  expect(await open('192.0.2.1')).toBe(200);
  readers[0]?.destroy();
  await expect.poll(() => open('2001:db8::3')).toBe(200);
});

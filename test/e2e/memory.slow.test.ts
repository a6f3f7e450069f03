import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGatewayProcess, type GatewayProcess } from '../../scripts/gateway-process.ts';
import { documents, operatorOf } from '../cli/run-cli.ts';
import { dataUri, makeBulky } from '../media/input-images.ts';
import { sendBeforeReading } from '../rest/send-before-reading.ts';
import { layDataFolder } from '../data-template.ts';

const mebibyte = 1024 ** 2;
const heapBytes = 512 * mebibyte;
const bodyMemoryBytes = 256 * mebibyte;
/** Code, threads, and what of pictures is decoded outside the heap. */
const otherBytes = 384 * mebibyte;

let dataDir: string;
let gateway: GatewayProcess;
let photograph: string;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'causeway-memory-'));
  layDataFolder(dataDir);
  gateway = await startGatewayProcess({
    DATA_DIR: dataDir,
    SYNTHETIC_PROFILES: '500',
    LOG_LEVEL: 'silent',
    REQUESTS_PER_MINUTE: '100000',
    BODY_MEMORY_BYTES: String(bodyMemoryBytes),
    NODE_OPTIONS: `--max-old-space-size=${heapBytes / mebibyte}`,
  });
  photograph = dataUri('image/png', makeBulky(10));
});

afterAll(async () => {
  await gateway.kill();
  await rm(dataDir, { recursive: true, force: true });
});

interface Answer {
  status: number | undefined;
  body: { id?: string; error?: { type: string; code: string; message: string } };
}

const begin = (path: string, length: number, apiKey: string | null) =>
  httpRequest(gateway.url + path, {
    method: 'POST',
    agent: false,
    headers: {
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'content-length': length,
    },
  });

const post = async (path: string, sent: Buffer): Promise<Answer> => {
  const request = begin(path, sent.length, gateway.apiKey);
  request.end(sent);
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  const body = JSON.parse(await text(answer)) as Answer['body'];
  // As clients do that have their answer before they have sent everything.
  request.on('error', () => undefined).destroy();
  return { status: answer.statusCode, body };
};

/** The most that the process had in memory at any time since it started. */
const peakBytes = async (): Promise<number> => {
  const status = await readFile(`/proc/${gateway.pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
};

/** What a process took at most is told by Linux alone. */
describe.runIf(process.platform === 'linux')('200 clients that each send a picture of 10 MB at once', () => {
  it('are all answered, within a set bound of memory, and nothing is left of them', async () => {
    const editOf = (prompt: string): Buffer =>
      Buffer.from(JSON.stringify({ model: 'imagemodel-1.0', prompt, image: photograph }));
    // Drawing is left out, as it is not what takes memory.
    const edit = editOf('[sandbox:fail]');
    const question = { type: 'image_url', image_url: { url: photograph } };
    const chat = Buffer.from(
      JSON.stringify({ max_tokens: 20, messages: [{ role: 'user', content: [question] }] }),
    );
    expect(edit.length).toBeGreaterThan(13 * mebibyte);
    const kinds: [string, Buffer][] = [
      ['/v1/images/generations', edit],
      ['/v1/images/generations?async=true', edit],
      ['/v1/chat/completions', chat],
      ['/v1/images/generations', edit],
    ];
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const [path, body] = kinds[index % kinds.length] ?? ['', edit];
        return post(path, body);
      }),
    );

    const taken = answers.filter(({ status }) => status === 200 || status === 202);
    expect(taken.length).toBeGreaterThan(0);
    for (const { body } of taken) expect(body).toMatchObject({ id: expect.any(String) });
    for (const answer of answers.filter((each) => !taken.includes(each)))
      expect(answer).toMatchObject({
        status: 503,
        body: { error: { type: 'server_error', code: 'overloaded' } },
      });
    expect(await peakBytes()).toBeLessThan(heapBytes + bodyMemoryBytes + otherBytes);
    const operator = operatorOf({ DATA_DIR: dataDir, LOG_LEVEL: 'silent' });
    await expect
      .poll(() => operator.answer(documents.ledger, 'ledger', 'check'), { timeout: 60_000, interval: 2_000 })
      .toMatchObject({ problems: [], open_holds: 0 });
    const again = await post('/v1/images/generations', editOf('Make it warmer'));
    expect(again).toMatchObject({ status: 200, body: { status: 'done' } });
  });
});

describe('strangers', () => {
  it.each(['keep-alive', 'close'])(
    'that send much before they read learn that they have no key (%s)',
    async (connection) => {
      const head = [
        'POST /v1/images/generations HTTP/1.1',
        'Host: gateway',
        `Connection: ${connection}`,
        `Content-Length: ${15 * mebibyte}`,
      ];
      const request = Buffer.concat([
        Buffer.from(`${head.join('\r\n')}\r\n\r\n`),
        Buffer.alloc(15 * mebibyte, ' '),
      ]);
      const { port } = new URL(gateway.url);
      expect(await sendBeforeReading(Number(port), request)).toBe('HTTP/1.1 401 Unauthorized');
    },
  );

  it('cannot reserve memory for what they do not send', async () => {
    const requests = Array.from({ length: 20 }, () => begin('/mcp', 15 * mebibyte, null));
    for (const request of requests) {
      request.on('error', () => undefined).flushHeaders();
      const [answer] = (await once(request, 'response')) as [IncomingMessage];
      expect(answer.statusCode).toBe(413);
    }
    for (const request of requests) request.destroy();
  });
});

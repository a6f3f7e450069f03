import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';
import { jsonAnswer } from '../../src/operations/answer.ts';
import { leaveNote } from '../operations/leave-note.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway?.stop());

/** All that comes back for these bytes until the connection ends. */
const send = async (bytes: string): Promise<string> => {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
  });
  socket.write(bytes);
  await once(socket, 'close');
  return answer;
};

const overflow = 'x'.repeat(40_000);
const last = 'Host: localhost\r\nConnection: close';

describe('an unreadable request', () => {
  it.each<[string, string, string, string]>([
    [
      'headers that are too long',
      '431 Request Header Fields Too Large',
      'payload_too_large',
      `GET /v1/search HTTP/1.1\r\nHost: localhost\r\nX-Long: ${overflow}\r\n\r\n`,
    ],
    [
      'a header that is none',
      '400 Bad Request',
      'invalid_value',
      'GET /v1/search HTTP/1.1\r\nHost: localhost\r\nno header\r\n\r\n',
    ],
    ['a request line that is none', '400 Bad Request', 'invalid_value', 'HELLO\r\n\r\n'],
    ['the preface of HTTP/2', '400 Bad Request', 'invalid_value', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    [
      'a broken chunk',
      '400 Bad Request',
      'invalid_value',
      `POST /v1/videos HTTP/1.1\r\n${last}\r\nAuthorization: Bearer KEY\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
    ],
    ['no Host', '400 Bad Request', 'invalid_value', 'GET /v1/models HTTP/1.1\r\n\r\n'],
    ['no Host at /mcp', '400 Bad Request', 'invalid_value', 'POST /mcp HTTP/1.1\r\n\r\n'],
    [
      'an expectation',
      '417 Expectation Failed',
      'expectation_failed',
      `POST /v1/videos HTTP/1.1\r\n${last}\r\nExpect: banana\r\n\r\n`,
    ],
    [
      'an expectation at /mcp',
      '417 Expectation Failed',
      'expectation_failed',
      `POST /mcp HTTP/1.1\r\n${last}\r\nExpect: banana\r\n\r\n`,
    ],
    [
      'CONNECT',
      '405 Method Not Allowed',
      'method_not_allowed',
      'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\nwhatever',
    ],
    ['the form for all of a server', '404 Not Found', 'not_found', `OPTIONS * HTTP/1.1\r\n${last}\r\n\r\n`],
    [
      'a wish for another protocol',
      '401 Unauthorized',
      'invalid_api_key',
      `GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`,
    ],
    [
      'a wish for HTTP/2, with a body',
      '401 Unauthorized',
      'invalid_api_key',
      'POST /v1/videos HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n' +
        'HTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Length: 2\r\n\r\n{}',
    ],
  ])('is answered in the form of all refusals: %s is %s', async (_name, status, code, bytes) => {
    const answer = await send(bytes.replace('KEY', gateway.apiKey));
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(head.split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`);
    expect(head).toMatch(/^X-Request-Id: req_/im);
    if (status.startsWith('405')) expect(head).toMatch(/^Allow: \S/m);
    expect(JSON.parse(body)).toMatchObject({ error: { code } });
  });

  it('is not answered while an earlier request waits for its own answer', async () => {
    const job =
      'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n' +
      `Authorization: Bearer ${gateway.apiKey}\r\nContent-Type: application/json\r\n`;
    const body = JSON.stringify({
      messages: [{ role: 'user', content: '[sandbox:slow=1] hello' }],
      max_tokens: 9,
    });
    const request = `${job}Content-Length: ${body.length}\r\n\r\n${body}`;
    expect(await send(`${request}no request\r\n\r\n`)).toBe('');
    expect(await send(`${request}CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n`)).toBe('');
  });

  it('of HTTP/1.0 needs no Host', async () => {
    expect(await send('GET /health/live HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('a connection', () => {
  /** The texts of the notes that were begun; each is answered when `answerNext` was called once more. */
  const start = async (length = 10) => {
    const begun: string[] = [];
    const gates: (() => void)[] = [];
    const handle = async ({ board, text }: { board: string; text: string }) => {
      begun.push(text);
      await new Promise<void>((resolve) => gates.push(resolve));
      return jsonAnswer({ board, note: { text: text.repeat(length), length } });
    };
    const operations = [{ ...leaveNote, sale: { kind: 'free' as const, handle } }];
    const served = await startTestGateway({ operations });
    const socket = connect(Number(new URL(served.url).port), '127.0.0.1');
    onTestFinished(() => {
      socket.destroy();
      return served.stop();
    });
    const request = (text: string): string =>
      `POST /v1/boards/hall/notes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${served.apiKey}\r\n` +
      `Content-Length: ${JSON.stringify({ text }).length}\r\n\r\n${JSON.stringify({ text })}`;
    const answerNext = async (): Promise<void> => {
      await expect.poll(() => gates.length).toBeGreaterThan(0);
      gates.shift()?.();
    };
    return { begun, socket, request, answerNext, call: served.call };
  };

  it('has its next request begun when the answer before it is written', async () => {
    const { begun, socket, request, answerNext, call } = await start();
    let answers = '';
    socket.setEncoding('utf8').on('data', (text: string) => (answers += text));
    socket.write(request('a') + request('b'));
    await expect.poll(() => begun).toEqual(['a']);
    for (let round = 0; round < 3; round += 1) await call('/health/live');
    expect(begun).toEqual(['a']);
    await answerNext();
    await expect.poll(() => begun).toEqual(['a', 'b']);
    await answerNext();
    await expect.poll(() => answers).toContain('b'.repeat(10));
    socket.write(request('c'));
    await answerNext();
    await expect.poll(() => answers.match(/HTTP\/1\.1 200/g)).toHaveLength(3);
    expect(answers).toMatch(/a{10}.*b{10}.*c{10}/s);
  });

  it('ends behind the second of three answers that were asked for at once', async () => {
    const { begun, socket, request, answerNext } = await start();
    let answers = '';
    socket.setEncoding('utf8').on('data', (text: string) => (answers += text));
    socket.write(request('a') + request('b') + request('c'));
    await answerNext();
    await answerNext();
    await once(socket, 'close');
    expect(begun).toEqual(['a', 'b']);
    expect(answers).toMatch(/a{10}.*b{10}/s);
  });

  it('ends when its client reads nothing of an answer for a minute', async () => {
    const sockets: Socket[] = [];
    subscribe('http.server.request.start', (message) => sockets.push(Object(message).socket));
    const { socket, request, answerNext } = await start(20_000_000);
    socket.pause().write(request('a'));
    await answerNext();
    await expect.poll(() => sockets[0]?.timeout).toBe(60_000);
    sockets[0]?.emit('timeout');
    socket.resume();
    await once(socket, 'close');
    expect(socket.bytesRead).toBeLessThan(20_000_000);
  });
});

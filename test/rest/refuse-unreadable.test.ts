import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway?.stop());

/** All that comes back for these bytes. */
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

describe('what is no request', () => {
  it.each([
    [431, 'Request Header Fields Too Large', 'payload_too_large', `X-Long: ${'x'.repeat(40_000)}\r\n\r\n`],
    [400, 'Bad Request', 'invalid_value', 'no header\r\n\r\n'],
  ])('is answered %i %s in the form of all refusals', async (status, text, code, rest) => {
    const answer = await send(`GET /v1/search HTTP/1.1\r\nHost: localhost\r\n${rest}`);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(head.split('\r\n')[0]).toBe(`HTTP/1.1 ${status} ${text}`);
    expect(head).toMatch(/^X-Request-Id: req_/m);
    expect(JSON.parse(body)).toMatchObject({ error: { type: 'invalid_request_error', code } });
  });
});

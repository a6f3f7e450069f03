import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { readDirectCall } from '../../src/mcp/direct-call.ts';
import { operations as realOperations } from '../operations/test-operations.ts';
import {
  usualHeaders,
  claim,
  envelope,
  type Sent,
  type Message,
  legacy,
  modern,
  call,
  direct,
  others,
} from './direct-requests.ts';
import { createExampleOperations } from './example-operations.ts';
import { startGateway, type TestGateway } from './start-gateway.ts';

const examples = createExampleOperations();
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway({ operations: [...realOperations, ...examples.operations] });
});
afterAll(() => gateway.close());

const textOf = ({ body }: Sent): string => (typeof body === 'string' ? body : JSON.stringify(body));

const isDirect = (sent: Sent): boolean =>
  readDirectCall(
    {
      headers: { host: 'localhost', ...sent.headers },
      url: sent.path ?? '/mcp',
    } as unknown as IncomingMessage,
    Buffer.from(textOf(sent)),
  ) !== null;

/** Sends a body of known length, or one of unknown length, which always goes to the library. */
const send = async (sent: Sent, { key, isAnnounced }: { key: boolean; isAnnounced: boolean }) => {
  const body = Buffer.from(textOf(sent));
  const request = httpRequest(`${gateway.url}${sent.path ?? '/mcp'}`, {
    method: 'POST',
    agent: false,
    headers: {
      ...sent.headers,
      ...(key ? { authorization: `Bearer ${gateway.apiKey}` } : {}),
      ...(isAnnounced ? { 'content-length': body.length } : { 'transfer-encoding': 'chunked' }),
    },
  });
  request.end(body);
  const [response]: IncomingMessage[] = await once(request, 'response');
  if (response === undefined) throw new Error('there is no response');
  const { date: _date, 'x-request-id': _id, ...headers } = response.headers;
  // Offers are signed anew from time to time.
  const unsigned = (await text(response)).replace(/"signature":"[^"]+"/g, '"signature":""');
  return { status: response.statusCode, headers, body: unsigned };
};

const expectEqualAnswers = async (sent: Sent, key: boolean): Promise<void> => {
  const whole = await send(sent, { key, isAnnounced: true });
  expect(whole).toEqual(await send(sent, { key, isAnnounced: false }));
};

describe('an MCP request that is answered without the library', () => {
  describe.each(Object.entries(direct))('%s', (_name, sent) => {
    it('is taken for one', () => expect(isDirect(sent)).toBe(true));
    it('gets the answer of the library with a key', () => expectEqualAnswers(sent, true));
    it('gets the answer of the library without a key', () => expectEqualAnswers(sent, false));
  });

  it('gets the links of a result, and its marks, in the order of the library', async () => {
    const input = { model: 'imagemodel-1.0', prompt: 'a pond', idempotency_key: 'once' };
    const image = legacy(call('create_image', input));
    await send(image, { key: true, isAnnounced: true });
    await expect
      .poll(async () => (await send(image, { key: true, isAnnounced: true })).body, { timeout: 60_000 })
      .toContain('resource_link');
    await expectEqualAnswers(image, true);
    await expectEqualAnswers(modern(call('create_image', input)), true);
  });

  it('gets a task in place of a result, as the library writes it', async () => {
    const input = {
      model: 'videomodel-2.0',
      duration: 5,
      prompt: '[sandbox:stall] a pond',
      idempotency_key: 'task',
    };
    const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const _meta = { ...envelope, 'io.modelcontextprotocol/clientCapabilities': capabilities };
    const film = modern(call('create_video', input, { _meta }));
    expect(isDirect(film)).toBe(true);
    await expect
      .poll(async () => (await send(film, { key: true, isAnnounced: true })).body)
      .toContain('has begun');
    await expectEqualAnswers(film, true);
  });

  it('gets the comments of the library while it takes long', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const hang = legacy(call('hang'));
    const begin = async (framing: OutgoingHttpHeaders) => {
      const began = examples.nextHanging();
      const headers = { ...hang.headers, ...framing, authorization: `Bearer ${gateway.apiKey}` };
      const request = httpRequest(`${gateway.url}/mcp`, { method: 'POST', agent: false, headers });
      request.on('error', () => undefined).end(textOf(hang));
      await began;
      vi.advanceTimersByTime(15_000);
      const [response]: IncomingMessage[] = await once(request, 'response');
      const [comment]: Buffer[] = response === undefined ? [] : await once(response, 'data');
      request.destroy();
      const { date: _date, 'x-request-id': _id, ...sent } = response?.headers ?? {};
      return { sent, comment: String(comment) };
    };
    const announced = await begin({ 'content-length': textOf(hang).length });
    expect(announced.comment).toBe(': keepalive\n\n');
    expect(announced).toEqual(await begin({ 'transfer-encoding': 'chunked' }));
  });

  it('ends with its client', async () => {
    const began = examples.nextHanging();
    const request = httpRequest(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: { ...usualHeaders, authorization: `Bearer ${gateway.apiKey}` },
    });
    request.on('error', () => undefined).end(textOf(legacy(call('hang'))));
    const signal = await began;
    const aborted = once(signal, 'abort');
    request.destroy();
    await aborted;
    // The reason of the library is another one.
    expect(signal.reason).toEqual(new Error('the client has gone'));
  });
});

describe('an MCP request for the library', () => {
  // The mount knows which tools there are.
  const readable = [
    'the tool undefined',
    'the tool ""',
    'the tool "nothing"',
    'the tool "constructor"',
    'the tool "__proto__"',
    'another group',
  ];

  it.each(Object.entries(others))('is not taken: %s', (name, sent) =>
    expect(isDirect(sent)).toBe(readable.includes(name)),
  );
  it.each(Object.entries(others))('gets the same answer, announced or not: %s', (_name, sent) =>
    expectEqualAnswers(sent, true),
  );
});

describe('any MCP request', () => {
  const json = fc.jsonValue({ maxDepth: 1 });
  const member = fc.constantFrom(
    'jsonrpc',
    'id',
    'method',
    'params',
    'name',
    'arguments',
    '_meta',
    claim,
    'extra',
  );
  const place = fc.constantFrom('message', 'params', '_meta', 'arguments');
  const change = fc.record({ place, member, value: fc.option(json, { nil: undefined }) });
  const header = fc.record({
    name: fc.constantFrom('accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'),
    value: fc.constantFrom(
      '',
      'application/json',
      'tools/list',
      'get_balance',
      '2025-06-18',
      '2026-07-28',
      'x',
    ),
  });

  interface Change {
    place: string;
    member: string;
    value: unknown;
  }
  const altered = (sent: Sent, { place: where, member: name, value }: Change): Sent => {
    if (typeof sent.body === 'string') return sent;
    const message = structuredClone(sent.body) as Message;
    const target =
      where === 'message' ? message : where === 'params' ? message.params : message.params?.[where];
    if (typeof target !== 'object' || target === null) return sent;
    Object.assign(target, { [name]: value });
    return { ...sent, body: message };
  };

  it('gets the same answer, announced or not', async () => {
    const base = fc.constantFrom(...Object.values(direct));
    await fc.assert(
      fc.asyncProperty(
        base,
        fc.array(change, { maxLength: 2 }),
        fc.option(header),
        async (sent, changes, set) => {
          const body = changes.reduce(altered, sent);
          const headers = set === null ? body.headers : { ...body.headers, [set.name]: set.value };
          await expectEqualAnswers({ ...body, headers }, true);
        },
      ),
      { numRuns: 300 },
    );
  });
});

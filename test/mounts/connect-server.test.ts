import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createOutbound } from '../../src/http/create-outbound.ts';
import { connectServer } from '../../src/mounts/connect-server.ts';
import type { MountConfig } from '../../src/mounts/mount-settings.ts';
import type { MountedServer, ToolOutcome, ToolProgress } from '../../src/mounts/mounted-server.ts';
import { silentLog } from '../../src/kit/log.ts';
import { connectByClient2 } from './connect-by-client-2.ts';
import { startHttpMcp } from './http-mcp-server.ts';
import { createProcessGroups } from '../../src/mounts/process-groups.ts';
import { makeFolder } from './start-mounts.ts';
import { httpTarget, mountConfig, programTarget } from './mount-config.ts';
import { hostileProgram } from './mount-yaml.ts';
import { startEverything } from './start-everything.ts';

/** One event without an end. */
function* flood(): Generator<string> {
  for (;;) yield `data: ${'x'.repeat(65_000)}\n`;
}

const signal = new AbortController().signal;
const firstText = (outcome: ToolOutcome): string => {
  const content: unknown = outcome.kind === 'answered' ? outcome.result['content'] : [];
  return (content as { text: string }[])[0]?.text ?? '';
};
const textOf = (text: string) => ({ kind: 'answered', result: { content: [{ type: 'text', text }] } });

describe.each([
  ['the client of the SDK v1', connectServer],
  ['the client of the SDK v2', connectByClient2],
])('a server that is reached with %s', (_name, connect) => {
  const open = async (
    config: MountConfig,
    onToolsChanged = (): void => undefined,
  ): Promise<MountedServer> => {
    const outbound = createOutbound({ allowsLoopback: false, userAgent: 'test' });
    const server = await connect(config, {
      log: silentLog,
      outbound,
      groups: createProcessGroups(makeFolder()),
      clientInfo: { name: 'test', version: '1' },
      onToolsChanged,
      signal,
    });
    onTestFinished(async () => {
      await server.close();
      await outbound.close();
    });
    return server;
  };
  const hostile = (more: Partial<MountConfig> = {}) =>
    mountConfig('hostile', programTarget(hostileProgram), more);
  const timeouts = { answerMs: 20_000, silenceMs: 2_000, totalMs: 20_000 };

  it('is listed with tools that are broken, and says when they change', async () => {
    const changed = vi.fn<() => void>();
    const server = await open(hostile(), changed);
    const names = (await server.list(signal)).map((tool) => (tool as { name?: string } | null)?.name);
    expect(names).toEqual(expect.arrayContaining(['echo', 'broken', 'formless', undefined]));
    await server.call('change', {}, { signal });
    await vi.waitUntil(() => changed.mock.calls.length > 0);
  });

  it('answers calls, also with a failure or an error of the protocol', async () => {
    const server = await open(hostile());
    expect(await server.call('echo', { a: 1 }, { signal })).toMatchObject(textOf('{"a":1}'));
    expect(await server.call('fail', {}, { signal })).toMatchObject({ result: { isError: true } });
    expect(await server.call('refuse', {}, { signal })).toMatchObject({
      kind: 'answered',
      result: { isError: true, content: [{ text: expect.stringContaining('no such argument') }] },
    });
  });

  it('gets a progress token of ours and the trace, and nothing else', async () => {
    const server = await open(hostile());
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const answer = await server.call('meta', {}, { signal, traceparent });
    expect(JSON.parse(firstText(answer))).toEqual({ traceparent, progressToken: expect.any(Number) });
  });

  it('is heard while it tells of its progress, and no longer', async () => {
    const server = await open(hostile({ timeouts }));
    const heard: ToolProgress[] = [];
    const answer = await server.call('steps', {}, { signal, onProgress: (progress) => heard.push(progress) });
    expect(answer).toMatchObject(textOf('took steps'));
    expect(heard.slice(0, 2)).toEqual([
      { progress: 1, total: 16, message: 'step 1' },
      { progress: 2, total: 16, message: 'step 2' },
    ]);
    expect(await server.call('hang', {}, { signal })).toMatchObject({ kind: 'unknown' });
  });

  it('is told that a call is cancelled, and answers the next', async () => {
    const server = await open(hostile());
    const cancelling = new AbortController();
    const called = server.call(
      'wait',
      {},
      { signal: cancelling.signal, onProgress: () => cancelling.abort() },
    );
    expect(await called).toMatchObject({ kind: 'unknown' });
    await expect.poll(() => server.call('cancellations', {}, { signal })).toMatchObject(textOf('1'));
  });

  it('leaves the outcome of a call unknown in which it dies, and says that it has ended', async () => {
    const server = await open(hostile());
    expect(await server.call('die', {}, { signal })).toMatchObject({ kind: 'unknown' });
    await server.ended;
  });

  it('is reached by Streamable HTTP, with the headers of the operator', async () => {
    const { origin, seen } = await startHttpMcp();
    const headers = { authorization: 'Bearer of-ours', 'x-team': 'gateways' };
    const server = await open(mountConfig('remote', httpTarget(`${origin}/mcp`, { headers })));
    expect(await server.list(signal)).toMatchObject([{ name: 'echo' }]);
    expect(await server.call('echo', {}, { signal })).toMatchObject(textOf('ran echo'));
    expect(seen.length).toBeGreaterThan(3);
    for (const request of seen) expect(request.headers).toMatchObject(headers);
  });

  it.each([
    [401, 'unsent'],
    [429, 'unsent'],
    [500, 'unknown'],
  ])('that answers a call with status %i leaves its outcome %s', async (status, kind) => {
    const { origin } = await startHttpMcp(({ body }, response) => {
      if (!body.includes('tools/call')) return false;
      response.writeHead(status).end('Bearer of-ours is wrong');
      return true;
    });
    const server = await open(mountConfig('remote', httpTarget(`${origin}/mcp`)));
    const outcome = await server.call('echo', {}, { signal });
    expect(outcome).toMatchObject({ kind });
    expect(String((outcome as { cause?: unknown }).cause)).toBe(
      `${kind === 'unsent' ? 'UnsentError' : 'Error'}: the server answered with status ${status}`,
    );
  });

  const rpcError = (id: number | null, message: string) =>
    JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id });

  it.each([
    ['loses', 'the status 404', 404, () => 'Not found'],
    ['loses', 'an error without an id', 400, () => rpcError(null, 'No valid session ID provided')],
    ['loses', 'an error of another id', 400, (id: number) => rpcError(id + 1, 'Session not found')],
    ['keeps', 'an error of something else', 400, () => rpcError(null, 'Unsupported protocol version')],
    ['keeps', 'an error of the call itself', 400, (id: number) => rpcError(id, 'no session of yoga')],
    ['keeps', 'a text with the word', 400, () => 'no session of yoga'],
    ['keeps', 'JSON that is no error', 400, () => JSON.stringify({ message: 'no session of yoga' })],
  ])('%s its session by %s', async (does, _what, status, bodyOf) => {
    const { origin } = await startHttpMcp(({ body }, response) => {
      response.setHeader('mcp-session-id', 'session');
      if (!body.includes('tools/call')) return false;
      response.writeHead(status, { 'content-type': 'application/json' }).end(bodyOf(JSON.parse(body).id));
      return true;
    });
    const server = await open(mountConfig('remote', httpTarget(`${origin}/mcp`)));
    const outcome = await server.call('echo', {}, { signal });
    expect(outcome).toMatchObject(
      does === 'loses' ? { kind: 'unsent', isSessionLost: true } : { kind: 'unknown' },
    );
  });

  it('may answer a notification with a body that nobody reads', async () => {
    const { origin } = await startHttpMcp(({ body }, response) => {
      if (!body.includes('notifications/')) return false;
      response.writeHead(202).write('x');
      for (let index = 0; index < 20; index += 1) response.write('x'.repeat(100_000));
      response.end();
      return true;
    });
    const server = await open(mountConfig('remote', httpTarget(`${origin}/mcp`)));
    expect(await server.call('echo', {}, { signal })).toMatchObject(textOf('ran echo'));
  });

  it('that is led to another origin by a redirect sends nothing there', async () => {
    const other = await startHttpMcp();
    const { origin } = await startHttpMcp((_request, response) => {
      response.writeHead(307, { location: `${other.origin}/mcp` }).end();
      return true;
    });
    await expect(open(mountConfig('remote', httpTarget(`${origin}/mcp`)))).rejects.toThrow(/not followed/);
    expect(other.seen).toEqual([]);
  });

  it('is reached by the old transport, and ends with its stream', async () => {
    const everything = await startEverything('sse');
    const server = await open(mountConfig('old', httpTarget(`${everything.origin}/sse`, { isSse: true })));
    expect(await server.list(signal)).toEqual(
      expect.arrayContaining([expect.objectContaining({ name: 'echo' })]),
    );
    expect(await server.call('echo', { message: 'x' }, { signal })).toMatchObject(textOf('Echo: x'));
    const lost = server.call('trigger-long-running-operation', { duration: 60, steps: 2 }, { signal });
    await everything.stop();
    expect(await lost).toMatchObject({ kind: 'unknown' });
    await server.ended;
    expect(await server.call('echo', { message: 'x' }, { signal })).toMatchObject({ kind: 'unsent' });
  });

  it('of the old transport that names an address elsewhere is not used', async () => {
    const other = await startHttpMcp();
    const { origin } = await startHttpMcp(({ method }, response) => {
      if (method !== 'GET') return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: ${other.origin}/message\n\n`);
      return true;
    });
    await expect(open(mountConfig('old', httpTarget(`${origin}/sse`, { isSse: true })))).rejects.toThrow(
      /origin/,
    );
    expect(other.seen).toEqual([]);
  });

  it('of the old transport ends with an event that is too long', async () => {
    const { origin, seen } = await startHttpMcp(({ method }, response) => {
      if (method !== 'GET') return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: endpoint\ndata: /message\n\n');
      Readable.from(flood()).pipe(response);
      return true;
    });
    await expect(open(mountConfig('old', httpTarget(`${origin}/sse`, { isSse: true })))).rejects.toThrow(
      /closed/i,
    );
    expect(seen.filter(({ method }) => method === 'GET')).toHaveLength(1);
  });
});

it("joins a server's spans to our own trace, where there is one", async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const ours = '00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const server = await connectServer(mountConfig('hostile', programTarget(hostileProgram)), {
    log: silentLog,
    outbound: { send: () => Promise.reject(new Error('nothing is sent here')) },
    telemetry: { traceHeaders: () => ({ traceparent: ours, tracestate: 'a=b' }) },
    groups: createProcessGroups(makeFolder()),
    clientInfo: { name: 'test', version: '1' },
    onToolsChanged: () => undefined,
    signal,
  });
  onTestFinished(() => server.close());
  const answer = await server.call('meta', {}, { signal, traceparent });
  expect(JSON.parse(firstText(answer))).toEqual({
    traceparent: ours,
    progressToken: expect.any(Number),
  });
});

it.each([
  ['was refused', 403, ''],
  ['was answered with what is no message', 200, '{}'],
])('keeps nothing of a call that %s', async (_what, status, answer) => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const { origin } = await startHttpMcp(({ body }, response) => {
    if (!body.includes('tools/call')) return false;
    response.writeHead(status, { 'content-type': 'application/json' }).end(answer);
    return true;
  });
  const server = await connectServer(mountConfig('remote', httpTarget(`${origin}/mcp`)), {
    log: silentLog,
    outbound: { send: () => Promise.reject(new Error('nothing is sent here')) },
    groups: createProcessGroups(makeFolder()),
    clientInfo: { name: 'test', version: '1' },
    onToolsChanged: () => undefined,
    signal,
  });
  onTestFinished(() => server.close());
  const call = async (): Promise<WeakRef<object>> => {
    const words = { text: 'of a caller' };
    const outcome = await server.call('echo', { words }, { signal: new AbortController().signal });
    expect(outcome.kind).not.toBe('answered');
    return new WeakRef(words);
  };
  const sent = await call();
  const isKept = (): boolean => {
    collectGarbage();
    return sent.deref() !== undefined;
  };
  await expect.poll(isKept).toBe(false);
});

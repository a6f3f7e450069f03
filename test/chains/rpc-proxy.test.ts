import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answerRpcBody, rpcResult } from './json-rpc.ts';
import { startRpcProxy, type RpcProxy } from './rpc-proxy.ts';

describe('the RPC proxy', () => {
  let proxy: RpcProxy;
  /** Methods that reached the node, in order. */
  let reached: string[];

  beforeEach(async () => {
    reached = [];
    proxy = await startRpcProxy({
      port: 0,
      forward: (body) => {
        reached.push(...body.calls.map((call) => call.method));
        return Promise.resolve(answerRpcBody(body, (call) => rpcResult(call.id, `did ${call.method}`)));
      },
    });
  });
  afterEach(() => proxy.stop());

  const post = (body: string): Promise<Response> => fetch(proxy.url, { method: 'POST', body });
  const call = (method: string): Promise<Response> =>
    post(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: [] }));

  it('hands a call to the node and its answer back', async () => {
    const response = await call('ping');
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 7, result: 'did ping' });
  });

  it('answers a batch with a batch', async () => {
    const batch = ['one', 'two'].map((method, id) => ({ jsonrpc: '2.0', id, method }));
    const response = await post(JSON.stringify(batch));
    expect(await response.json()).toMatchObject([
      { id: 0, result: 'did one' },
      { id: 1, result: 'did two' },
    ]);
  });

  it.each([
    ['no JSON', '{"jsonrpc":', -32_700],
    ['no call', '"hello"', -32_600],
    ['an empty batch', '[]', -32_600],
  ])('refuses a body that is %s', async (_name, body, code) => {
    const response = await post(body);
    expect(await response.json()).toMatchObject({ id: null, error: { code } });
    expect(reached).toEqual([]);
  });

  it('refuses a body above a mebibyte', async () => {
    const response = await post(' '.repeat(1024 ** 2 + 1));
    expect(response.status).toBe(413);
  });

  it('refuses other HTTP methods', async () => {
    const response = await fetch(proxy.url);
    expect(response.status).toBe(405);
  });

  it('counts calls by method', async () => {
    await call('ping');
    await call('ping');
    await call('pong');
    expect(['ping', 'pong', 'other'].map((method) => proxy.controls.callCount(method))).toEqual([2, 1, 0]);
  });

  it('answers with an error without asking the node', async () => {
    proxy.controls.inject({ fault: 'error', methods: ['ping'] });
    const response = await call('ping');
    expect(await response.json()).toMatchObject({ id: 7, error: { code: -32_000 } });
    expect(reached).toEqual([]);
  });

  it('strikes only the named methods, and only so often', async () => {
    const fault = proxy.controls.inject({ fault: 'unavailable', methods: ['ping'], times: 1 });
    const statuses = [await call('pong'), await call('ping'), await call('ping')].map(
      (answer) => answer.status,
    );
    expect(statuses).toEqual([200, 503, 200]);
    expect(fault.hits).toBe(1);
  });

  it('cuts the connection before the node', async () => {
    proxy.controls.inject({ fault: 'disconnect' });
    await expect(call('ping')).rejects.toThrow('fetch failed');
    expect(reached).toEqual([]);
  });

  it('loses the answer after the node did the work', async () => {
    proxy.controls.inject({ fault: 'lose-answer' });
    await expect(call('ping')).rejects.toThrow('fetch failed');
    expect(reached).toEqual(['ping']);
  });

  it('hangs before the node until the fault is removed', async () => {
    const fault = proxy.controls.inject({ fault: 'hang' });
    const pending = call('ping');
    await fault.waitForHit();
    fault.remove();
    await expect(pending).rejects.toThrow('fetch failed');
    expect(reached).toEqual([]);
  });

  it('hangs after the node did the work', async () => {
    const fault = proxy.controls.inject({ fault: 'hang-answer' });
    const pending = call('ping');
    await fault.waitForHit();
    fault.remove();
    await expect(pending).rejects.toThrow('fetch failed');
    expect(reached).toEqual(['ping']);
  });

  it('holds a call back and lets it go on', async () => {
    const fault = proxy.controls.inject({ fault: 'hold', methods: ['ping'] });
    const held = call('ping');
    await fault.waitForHit();
    await call('pong');
    proxy.controls.clearFaults();
    expect((await held).status).toBe(200);
    expect(reached).toEqual(['pong', 'ping']);
  });

  it('stops while a call hangs', async () => {
    const fault = proxy.controls.inject({ fault: 'hang' });
    const outcome = call('ping').then(
      () => 'answered',
      () => 'cut',
    );
    await fault.waitForHit();
    await proxy.stop();
    expect(await outcome).toBe('cut');
    proxy = await startRpcProxy({ port: 0, forward: () => Promise.resolve('') });
  });
});

import { createHook } from 'node:async_hooks';
import { getEventListeners, once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { silentLog } from '../../src/kit/log.ts';
import { connectServer } from '../../src/mounts/connect-server.ts';
import { createProcessGroups } from '../../src/mounts/process-groups.ts';
import { openTestStoreHere } from '../operator/open-test-store-here.ts';
import { httpTarget, mountConfig } from './mount-config.ts';
import {
  caller,
  isAlive,
  makeFolder,
  programConfig,
  startMounts,
  textOf,
  whenReady,
} from './start-mounts.ts';

it('lists tools again and again without keeping anything of the lists before', async () => {
  const server = await connectServer(programConfig('hostile'), {
    log: silentLog,
    outbound: { send: () => Promise.reject(new Error('nothing is sent here')) },
    groups: createProcessGroups(makeFolder()),
    clientInfo: { name: 'test', version: '1' },
    onToolsChanged: () => undefined,
    signal: new AbortController().signal,
  });
  onTestFinished(() => server.close());
  const { signal } = new AbortController();
  for (let lists = 0; lists < 20; lists += 1) expect(await server.list(signal)).not.toEqual([]);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('leaves no timer behind for each time that tools change', async () => {
  const relistMs = 300_000;
  const timers = new Map<number, { _idleTimeout?: number }>();
  const hook = createHook({
    init: (id, type, _trigger, resource) => void (type === 'Timeout' && timers.set(id, resource)),
    destroy: (id) => void timers.delete(id),
  }).enable();
  onTestFinished(() => void hook.disable());
  const store = await openTestStoreHere();
  const mounts = await startMounts([programConfig('hostile')], { store });
  await whenReady(caller(mounts));
  const pin = async (): Promise<string | null | undefined> =>
    (await store.listMountedTools('hostile')).find(({ tool }) => tool === 'echo')?.pin;
  for (let changes = 0; changes < 10; changes += 1) {
    const before = await pin();
    expect(await textOf(caller(mounts)('change'))).toBe('changed');
    await expect.poll(pin).not.toBe(before);
  }
  const waiting = (): number => [...timers.values()].filter((one) => one._idleTimeout === relistMs).length;
  await expect.poll(waiting).toBeLessThanOrEqual(1);
});

it('ends while a server takes the greeting and never ends its next answer', async () => {
  const isStuck = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const { id, method, params } = JSON.parse(text);
      if (method !== 'initialize') return isStuck.resolve();
      const result = {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 's', version: '1' },
      };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const mounts = await startMounts([mountConfig('stuck', httpTarget(`http://127.0.0.1:${port}/mcp`))], {
    silenceMs: 300_000,
  });
  await isStuck.promise;
  await expect(mounts.close()).resolves.toBeUndefined();
});

it('ends while a program answers nothing and refuses to end', async () => {
  const dataDir = makeFolder();
  const code = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6); process.stdout.write('a banner')`;
  const mounts = await startMounts([programConfig('mute', { args: ['-e', code] })], { dataDir });
  const pids = (): number[] => readdirSync(join(dataDir, 'mounted-processes')).map(Number);
  await expect.poll(pids).toHaveLength(1);
  const [pid = 0] = pids();
  expect(isAlive(pid)).toBe(true);
  await mounts.close();
  expect(isAlive(pid)).toBe(false);
  expect(pids()).toEqual([]);
});

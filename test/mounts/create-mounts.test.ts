import { expect, it } from 'vitest';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { caller, isAlive, pinOf, programConfig, startMounts, whenReady } from './start-mounts.ts';

it.each(['hang', 'flood', 'die'])(
  'leaves the outcome of %s unknown, and has the server back afterwards',
  async (tool) => {
    const call = caller(await startMounts([programConfig('hostile')], { silenceMs: 300 }));
    await whenReady(call);
    expect(await call(tool)).toMatchObject({ kind: 'unknown' });
    await whenReady(call);
  },
);

it('ends the call alone whose answer is too long', async () => {
  const call = caller(await startMounts([programConfig('hostile')]));
  await whenReady(call);
  const first = await call('count');
  expect(await call('huge')).toMatchObject({
    result: { isError: true, content: [{ text: expect.stringContaining('longer than 2097152 bytes') }] },
  });
  // The same process counts on.
  expect([first, await call('count')]).toMatchObject(
    ['1', '2'].map((text) => ({ result: { content: [{ text }] } })),
  );
});

it('calls no tool that is not as its pin says', async () => {
  const call = caller(await startMounts([programConfig('hostile')]));
  await whenReady(call);
  expect(await call('count', pinOf('echo'))).toEqual({ kind: 'unsent' });
  expect(await call('count')).toMatchObject({ result: { content: [{ text: '1' }] } });
});

it('serves the tools of one server while another cannot start', async () => {
  const mounts = await startMounts([
    programConfig('absent', { args: ['/no/such/program'] }),
    programConfig('hostile'),
  ]);
  await whenReady(caller(mounts));
  expect(await caller(mounts, 'absent')('echo')).toMatchObject({ kind: 'unsent' });
});

it('ends the whole group of processes of a server, and waits for that', async () => {
  const mounts = await startMounts([programConfig('hostile')]);
  const call = caller(mounts);
  await whenReady(call);
  const forked = await call('fork');
  const pid = Number(/\d+/.exec(JSON.stringify(forked))?.[0]);
  expect(isAlive(pid)).toBe(true);
  await mounts.close();
  await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
});

it('writes of a message that nobody asked for its method and its id to the log alone', async () => {
  const { log, lines } = createRecordedLog();
  const call = caller(await startMounts([programConfig('hostile')], { log }));
  await whenReady(call);
  const stray = [
    { id: 999, result: { said: 'zzyzx' } },
    { method: 'notifications/progress', params: { progressToken: 99, progress: 1, message: 'zzyzx' } },
    { method: 'notifications/progress', params: { progressToken: 'zzyzx' } },
  ];
  const text = stray.map((one) => `${JSON.stringify({ jsonrpc: '2.0', ...one })}\n`).join('');
  await call('run', pinOf('run'), { code: `process.stdout.write(${JSON.stringify(text)})` });
  const mistakes = () =>
    lines.filter((line) => (line as { msg: string }).msg === 'a mounted server made a mistake');
  await expect
    .poll(mistakes)
    .toMatchObject([
      { id: '999', reason: expect.stringContaining('unknown message ID') },
      { method: 'notifications/progress', reason: expect.stringContaining('unknown token') },
      { reason: expect.any(String) },
    ]);
  expect(JSON.stringify(lines)).not.toContain('zzyzx');
});

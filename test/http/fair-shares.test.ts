import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { Outbound } from '../../src/http/outbound.ts';
import { failing, limits, openOutbound, startHttp, startTcp } from './local-hosts.ts';

type Changes = Partial<Parameters<Outbound['download']>[1]>;

/** A host that says nothing, and one that answers. */
const startHosts = async (): Promise<{ silent: string; good: string }> => {
  const { port } = await startTcp(() => undefined);
  return {
    silent: `http://127.0.0.1:${port}/`,
    good: await startHttp((_request, response) => response.end('fine')),
  };
};

const downloadText = async (outbound: Outbound, url: string, changes: Changes = {}): Promise<string> =>
  text((await outbound.download(url, { ...limits, ...changes })).body);

/** Begins a download that never ends by itself; what becomes of it is nobody's. */
const hang = (outbound: Outbound, url: string, changes: Changes = {}): void =>
  void outbound.download(url, { ...limits, ...changes }).catch(() => undefined);

test('an account that names silent hosts leaves places to others, and places in the line', async () => {
  const { silent, good } = await startHosts();
  const outbound = openOutbound({ atOnce: 8, waiting: 8 });
  const greedy = { accountId: 'greedy' };
  for (let count = 0; count < 4; count += 1) hang(outbound, silent, greedy);
  await expect(outbound.download(good, { ...limits, ...greedy })).rejects.toEqual(failing('busy'));
  expect(await downloadText(outbound, good, { accountId: 'modest' })).toBe('fine');
});

test('who waits for his own share is overtaken, and goes on once a place of it is free', async () => {
  const { silent, good } = await startHosts();
  const outbound = openOutbound({ atOnce: 4, waiting: 4 });
  const greedy = { accountId: 'greedy' };
  const first = new AbortController();
  hang(outbound, silent, { ...greedy, signal: first.signal });
  const ended: string[] = [];
  const second = downloadText(outbound, good, greedy).then(() => ended.push('greedy'));
  await downloadText(outbound, good, { accountId: 'modest' });
  ended.push('modest');
  first.abort(new Error('enough'));
  await second;
  expect(ended).toEqual(['modest', 'greedy']);
});

test('a result that an upstream made never waits for inputs', async () => {
  const { silent, good } = await startHosts();
  const outbound = openOutbound({ atOnce: 1, waiting: 0 });
  hang(outbound, silent);
  await expect(outbound.download(good, limits)).rejects.toEqual(failing('busy'));
  expect(await downloadText(outbound, good, { lane: 'results' })).toBe('fine');
});

test('a result that finds no place waits for one, however many do', async () => {
  const { good } = await startHosts();
  const outbound = openOutbound({ atOnce: 1, waiting: 0, longestWaitMs: 1 });
  const result = { lane: 'results' } as const;
  const held = await outbound.download(good, { ...limits, ...result });
  const waiting = Array.from({ length: 3 }, () => downloadText(outbound, good, result));
  // Beyond what an input would wait for.
  await expect(Promise.race([waiting[0], laterThan(20)])).resolves.toBe('later');
  held.body.destroy();
  expect(await Promise.all(waiting)).toEqual(['fine', 'fine', 'fine']);
});

test('the time of a download does not run while it waits for its place', async () => {
  const { silent, good } = await startHosts();
  const outbound = openOutbound({ atOnce: 1, waiting: 1 });
  hang(outbound, silent, { totalMs: 2_500 });
  expect(await downloadText(outbound, good, { totalMs: 2_000 })).toBe('fine');
});

test('who waits too long for a place is told that there is none, and leaves the line', async () => {
  const { silent, good } = await startHosts();
  const outbound = openOutbound({ atOnce: 1, waiting: 1, longestWaitMs: 100 });
  const gone = new AbortController();
  hang(outbound, silent, { signal: gone.signal });
  await expect(outbound.download(good, limits)).rejects.toEqual(failing('busy'));
  const next = downloadText(outbound, good);
  gone.abort(new Error('enough'));
  expect(await next).toBe('fine');
});

const laterThan = (delayMs: number): Promise<string> =>
  new Promise((resolve) => setTimeout(() => resolve('later'), delayMs));

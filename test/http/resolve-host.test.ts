import { expect, test } from 'vitest';
import { createResolveHost } from '../../src/http/connect-checked.ts';
import { failing, limits, openOutbound, startHttp } from './local-hosts.ts';
import { startNameServer, type Records } from './name-server.ts';

const six = (...end: number[]): number[] => [0x20, 1, 0xd, 0xb8, ...Array(12 - end.length).fill(0), ...end];
const { signal } = new AbortController();

const resolveWith = async (names: Record<string, Records | null>) =>
  createResolveHost({ servers: [await startNameServer(names)] });

test('all addresses of a name are found, of both families', async () => {
  const resolve = await resolveWith({
    'both.test': {
      four: [
        [8, 8, 8, 8],
        [1, 1, 1, 1],
      ],
      six: [six(1)],
    },
  });
  expect((await resolve('both.test', signal)).sort()).toEqual(['1.1.1.1', '2001:db8::1', '8.8.8.8']);
});

test('a name of one family alone is resolved too', async () => {
  const resolve = await resolveWith({ 'four.test': { four: [[8, 8, 8, 8]] }, 'six.test': { six: [six(2)] } });
  expect(await resolve('four.test', signal)).toEqual(['8.8.8.8']);
  expect(await resolve('six.test', signal)).toEqual(['2001:db8::2']);
});

test('a name that does not exist, or has no address, is unresolved', async () => {
  const resolve = await resolveWith({ 'empty.test': {} });
  await expect(resolve('empty.test', signal)).rejects.toEqual(failing('unresolved'));
  await expect(resolve('missing.test', signal)).rejects.toEqual(failing('unresolved'));
});

test('a name of this machine is not asked of anybody', async () => {
  const resolve = await resolveWith({ localhost: { four: [[8, 8, 8, 8]] } });
  expect(await resolve('localhost', signal)).toEqual(['127.0.0.1', '::1']);
});

test('a look-up ends at once when nobody wants it any more', async () => {
  const resolve = await resolveWith({ 'silent.test': null });
  const abort = new AbortController();
  const reason = new Error('not wanted any more');
  const lookUp = resolve('silent.test', abort.signal);
  abort.abort(reason);
  await expect(lookUp).rejects.toBe(reason);
  await expect(resolve('silent.test', abort.signal)).rejects.toBe(reason);
});

test('a call whose name server is silent runs out of time', async () => {
  const outbound = openOutbound({ resolve: await resolveWith({ 'silent.test': null }) });
  const download = outbound.download('https://silent.test/', { ...limits, totalMs: 200 });
  await expect(download).rejects.toEqual(failing('timeout'));
});

test('a call reaches the address that the DNS names, and refuses a mapped private one', async () => {
  const url = await startHttp((_request, response) => response.end('fine'));
  const mapped = [...Array(10).fill(0), 0xff, 0xff, 169, 254, 169, 254];
  const resolve = await resolveWith({
    'here.test': { four: [[127, 0, 0, 1]] },
    'mapped.test': { six: [mapped] },
  });
  const outbound = openOutbound({ resolve });
  const post = { ...limits, body: '{}', headers: {} };
  expect(await outbound.post(url.replace('127.0.0.1', 'here.test'), post)).toEqual({ status: 200 });
  await expect(outbound.post('https://mapped.test/', post)).rejects.toEqual(failing('not_public'));
});

import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { limits, openOutbound, startHttp } from './local-hosts.ts';

test('what nobody reads is not taken in', async () => {
  let taken = 0;
  const endless = new Readable({
    read() {
      taken += 16_384;
      this.push(Buffer.alloc(16_384));
    },
  });
  const url = await startHttp((_request, response) => {
    response.on('close', () => endless.destroy());
    endless.pipe(response);
  });
  const { body } = await openOutbound().download(url, { ...limits, maxBytes: Infinity, idleMs: 20_000 });
  const takenWithin = async (ms: number): Promise<number> => {
    const before = taken;
    await delay(ms);
    return taken - before;
  };
  // The rest stands in the buffers of the two sockets.
  await expect.poll(() => takenWithin(200)).toBe(0);
  expect(body.readableLength).toBeLessThan(1_000_000);
  body.destroy();
  await expect.poll(() => endless.destroyed).toBe(true);
});

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
  const { body } = await openOutbound().download(url, { ...limits, maxBytes: Infinity, idleMs: 50 });
  await delay(200);
  const takenBefore = taken;
  await delay(200);
  // The rest stands in the buffers of the two sockets.
  expect(taken).toBe(takenBefore);
  expect(body.readableLength).toBeLessThan(1_000_000);
  body.destroy();
  await expect.poll(() => endless.destroyed).toBe(true);
});

import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { boundedBody } from '../../src/http/bounded-body.ts';
import { startDeadline } from '../../src/http/deadline.ts';

test('what nobody reads is not taken in', async () => {
  let taken = 0;
  const endless = new Readable({
    read() {
      taken += 16_384;
      this.push(Buffer.alloc(16_384));
    },
  });
  const deadline = startDeadline({ failure: 'timeout', totalMs: 60_000, signals: [] });
  const body = boundedBody(endless, { maxBytes: Infinity, deadline, onClose: () => deadline.end() });
  body.read(1);
  for (let turn = 0; turn < 200; turn += 1) await nextTurn();
  expect(taken).toBeLessThan(1_000_000);
  body.destroy();
  expect(endless.destroyed).toBe(true);
});

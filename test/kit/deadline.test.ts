import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startDeadline } from '../../src/kit/deadline.ts';

test('a deadline that is over aborts and rejects with the error that was asked for', async () => {
  const late = new Error('too late');
  const deadline = startDeadline({ totalMs: 5, signals: [], toError: () => late });
  await expect(deadline.expired).rejects.toBe(late);
  expect(deadline.signal.reason).toBe(late);
});

test('a deadline ends with the first of its signals, also with one that has aborted already', async () => {
  const reason = new Error('the caller has gone');
  const stop = new AbortController();
  const patient = new AbortController().signal;
  const waiting = startDeadline({ totalMs: 60_000, signals: [patient, stop.signal] });
  stop.abort(reason);
  await expect(waiting.expired).rejects.toBe(reason);
  const late = startDeadline({ signals: [patient, AbortSignal.abort(reason)] });
  await expect(late.expired).rejects.toBe(reason);
  late.abort(new Error('another reason'));
  expect(late.signal.reason).toBe(reason);
});

test('a deadline that has ended aborts no more', async () => {
  const stop = new AbortController();
  const deadline = startDeadline({ totalMs: 5, signals: [stop.signal] });
  deadline.end();
  stop.abort();
  await delay(20);
  expect(deadline.signal.aborted).toBe(false);
});

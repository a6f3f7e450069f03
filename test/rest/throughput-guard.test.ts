import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createThroughputGuard } from '../../src/rest/throughput-guard.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Of a second, with 100 bytes a second. */
const start = () => {
  const onOver = vi.fn<() => void>();
  return { onOver, ...createThroughputGuard({ longestMs: 1_000, leastBytesPerSecond: 100, onOver }) };
};

test('a reader that takes nothing has the longest time; a reader at the minimum rate has no limit', () => {
  const { onOver, begin, took } = start();
  for (let count = 0; count < 50; count += 1) {
    begin();
    vi.advanceTimersByTime(900);
    took(90);
  }
  begin();
  vi.advanceTimersByTime(999);
  expect(onOver).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onOver).toHaveBeenCalledOnce();
});

test('a reader at half of the minimum rate has twice the time', () => {
  const { onOver, begin, took } = start();
  for (let count = 0; count < 18; count += 1) {
    begin();
    vi.advanceTimersByTime(100);
    took(5);
  }
  begin();
  vi.advanceTimersByTime(99);
  expect(onOver).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onOver).toHaveBeenCalledOnce();
});

test('bytes that are taken just before the timer count too', () => {
  const { onOver, begin, took } = start();
  begin();
  // A busy event loop: time passes, and no timer is served.
  const now = performance.now();
  vi.spyOn(performance, 'now').mockReturnValue(now + 2_000);
  took(1);
  expect(onOver).toHaveBeenCalledOnce();
});

test('time without available bytes does not count, nor time after the end', () => {
  const { onOver, begin, took, end } = start();
  begin();
  took(1);
  vi.advanceTimersByTime(60_000);
  begin();
  end();
  vi.advanceTimersByTime(60_000);
  expect(onOver).not.toHaveBeenCalled();
});

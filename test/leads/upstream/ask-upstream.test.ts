import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAskUpstream, type AskUpstream } from '../../../src/leads/upstream/ask-upstream.ts';
import { startStubService, type StubService } from './stub-service.ts';

let service: StubService;
let upstream: AskUpstream;

beforeEach(async () => {
  service = await startStubService({ kind: 'silence' });
});

afterEach(async () => {
  await upstream.close();
  await service.close();
});

const ask = (signal = new AbortController().signal) =>
  upstream.ask({ method: 'GET', url: service.origin, headers: {}, body: null }, signal);

describe('calls of an upstream', () => {
  it('above what may run and wait at once are refused, and none of them is sent', async () => {
    upstream = createAskUpstream({ timeoutMs: 10_000, maxBytes: 1_000, atOnce: 2, waiting: 1 });
    const leaver = new AbortController();
    const calls = [ask(leaver.signal), ask(leaver.signal), ask(leaver.signal)];
    await expect(ask()).rejects.toMatchObject({ failure: 'busy' });
    await expect.poll(() => service.requests.length).toBe(2);
    leaver.abort(new Error('gone'));
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    service.answer({ kind: 'json', value: 1 });
    expect(await ask()).toMatchObject({ status: 200, bytes: Buffer.from('1') });
    expect(service.requests).toHaveLength(3);
  });

  it('wait for a place no longer than a call may take', async () => {
    upstream = createAskUpstream({ timeoutMs: 150, maxBytes: 1_000, atOnce: 1, waiting: 1 });
    const outcomes = await Promise.allSettled([ask(), ask()]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(service.requests.length).toBeLessThanOrEqual(2);
  });

  it('tell the status of a failure although its page is too long to be read', async () => {
    upstream = createAskUpstream({ timeoutMs: 5_000, maxBytes: 1_000_000 });
    service.answer({
      kind: 'bytes',
      status: 503,
      bytes: 'x'.repeat(200_000),
      headers: { 'retry-after': '9' },
    });
    expect(await ask()).toMatchObject({ status: 503, retryAfterSeconds: 9, bytes: Buffer.alloc(0) });
  });

  it('tell the status of a failure although its page never comes', async () => {
    upstream = createAskUpstream({ timeoutMs: 60_000, maxBytes: 1_000 });
    service.answer({ kind: 'silence', status: 503, after: '<h1>', headers: { 'retry-after': '42' } });
    expect(await ask()).toMatchObject({ status: 503, retryAfterSeconds: 42, bytes: Buffer.alloc(0) });
  });
});

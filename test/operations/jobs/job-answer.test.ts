import { expect, test } from 'vitest';
import { waitForEnd } from '../../../src/operations/jobs/job-answer.ts';
import type { Services } from '../../../src/operations/call.ts';
import { responsesJob as job } from '../responses/responses-job.ts';

test.each([
  ['mcp', 0, 0],
  ['mcp', 45_000, 45_000],
  ['mcp', 45_001, 45_000],
  ['mcp', 300_000, 45_000],
  ['rest', 300_000, 300_000],
] as const)(
  'a call over %s that may wait %i ms waits %i ms at most',
  async (transport, timeoutMs, waitMs) => {
    const waits: number[] = [];
    const jobs = {
      wait: async (input: { timeoutMs: number }) => {
        waits.push(input.timeoutMs);
        return job;
      },
    };
    const { signal } = new AbortController();
    const services = { jobs, clock: { now: () => 0 } } as unknown as Services;
    expect(await waitForEnd({ job, timeoutMs }, { transport, signal }, services)).toBe(job);
    expect(waits).toEqual([waitMs]);
  },
);

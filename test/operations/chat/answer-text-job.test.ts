import { describe, expect, it } from 'vitest';
import type { JobEvent } from '../../../src/jobs/executor.ts';
import { createJobFeed } from '../../../src/jobs/job-feed.ts';
import type { LiveJob } from '../../../src/jobs/job-runner.ts';
import type { ServerSentEvent } from '../../../src/operations/answer.ts';
import type { AccountCall, Services } from '../../../src/operations/call.ts';
import { streamTextJob } from '../../../src/operations/chat/answer-text-job.ts';
import type { Job } from '../../../src/store/store.ts';
import { responsesJob } from '../responses/responses-job.ts';

const done: Job = { ...responsesJob, status: 'done' };
const failed: Job = {
  ...responsesJob,
  status: 'failed',
  error: { type: 'server_error', code: 'upstream_error', message: 'It failed.' },
};

const say = (data: string): ServerSentEvent[] => [{ data }];

/** Streams a job; `waits` are what waiting for its end brings, call by call. */
const stream = async (live: LiveJob | null, waits: (() => Promise<Job>)[]): Promise<string[]> => {
  const lives = [live];
  const left = [...waits];
  const jobs = {
    // It has ended, or is lost, by the time it is asked for again.
    live: () => lives.shift() ?? null,
    wait: () => left.shift()?.() ?? Promise.reject(new Error('waited too often')),
  };
  const answer = await streamTextJob(
    {
      job: responsesJob,
      headers: { 'x-response-id': 'resp_1' },
      stream: {
        begin: () => [],
        add: () => say('piece'),
        addStored: () => say('stored'),
        end: ({ status }) => say(status),
      },
    },
    { signal: new AbortController().signal } as AccountCall,
    { jobs, config: { brand: 'causeway', chatDeadlineMs: 1_000 } } as unknown as Services,
  );
  expect(answer).toMatchObject({ kind: 'stream', headers: { 'x-response-id': 'resp_1' } });
  const sent: string[] = [];
  await answer.stream((events) => {
    for (const { data } of events) sent.push(data);
    return undefined;
  });
  return sent;
};

const ended = (finished: Promise<Job>): LiveJob => {
  const feed = createJobFeed<JobEvent>();
  feed.end();
  return { feed, provider: 'up', finished };
};

const lost = (): LiveJob => {
  const finished = Promise.reject(new Error('the lease was lost'));
  finished.catch(() => undefined);
  return ended(finished);
};

describe('the stream of a text job', () => {
  it('follows a job that ended before its first byte was due', async () => {
    expect(await stream(ended(Promise.resolve(done)), [])).toEqual(['done']);
  });

  it('is a plain refusal when the job failed before its first byte was due', async () => {
    const refusal = { code: 'upstream_error', headers: { 'x-response-id': 'resp_1' } };
    await expect(stream(ended(Promise.resolve(failed)), [])).rejects.toMatchObject(refusal);
    await expect(stream(null, [() => Promise.resolve(failed)])).rejects.toMatchObject(refusal);
  });

  it('waits for the end of a job that this process lost', async () => {
    expect(await stream(lost(), [() => Promise.resolve(done)])).toEqual(['stored', 'done']);
  });

  it('tells the end of a job that runs elsewhere, however it ends once the stream has begun', async () => {
    const running = () => Promise.resolve(responsesJob);
    expect(await stream(null, [running, () => Promise.resolve(done)])).toEqual(['stored', 'done']);
    expect(await stream(null, [running, () => Promise.resolve(failed)])).toEqual(['stored', 'failed']);
  });

  it('ends in its own form when the store cannot be asked any more', async () => {
    const outage = () => Promise.reject(new Error('the store is away'));
    expect(await stream(null, [() => Promise.resolve(responsesJob), outage])).toEqual(['stored', 'running']);
    await expect(stream(null, [outage])).rejects.toThrow('the store is away');
  });
});

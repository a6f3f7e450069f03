import type { LiveJob } from '../../jobs/job-runner.ts';
import { isTerminal } from '../../jobs/wait-for-job.ts';
import type { Job } from '../../store/store.ts';
import { toJobError } from '../jobs/job-error.ts';
import type { AccountCall, ServerSentEvent, Services, StreamAnswer } from '../operation.ts';

/** A stream's status line waits this long for the answer to begin, so that an early failure is a plain error. */
const streamStartMs = 10_000;

type Events = AsyncIterable<ServerSentEvent>;

export interface StreamTextJobInput {
  job: Job;
  headers: Record<string, string>;
  /** The events of a job that runs in this process, from its beginning. */
  followLive(live: LiveJob): Events;
  /** The same events from a job that has ended, or, when waiting for it was given up, as it stands. */
  replay(job: Job): Events;
}

/** Answers a text job as a stream, live or finished. Throws AppError when it failed before the first event was due. */
export const streamTextJob = async (
  { job, headers, followLive, replay }: StreamTextJobInput,
  { signal }: AccountCall,
  { jobs, config }: Services,
): Promise<StreamAnswer> => {
  const live = jobs.live(job.id);
  if (live !== null) {
    await live.feed.started(streamStartMs);
    const events = followLive(live);
    if (jobs.live(job.id) !== null) return { kind: 'stream', headers, events };
    // It ended before the first byte was due: a failure is then a plain error.
    const finished = await live.finished.catch(() => null);
    if (finished?.status === 'failed') throw toJobError(finished, headers);
    if (finished !== null) return { kind: 'stream', headers, events };
  }
  // It ran, or runs in another process, or was lost by this one: then its end is waited for.
  const early = await jobs.wait({ job, timeoutMs: streamStartMs, signal });
  if (early.status === 'failed') throw toJobError(early, headers);
  if (isTerminal(early)) return { kind: 'stream', headers, events: replay(early) };
  const events = async function* () {
    const waited = jobs.wait({ job, timeoutMs: config.chatDeadlineMs, signal });
    // A stream that has begun ends in its own form, also when the store cannot be asked.
    yield* replay(await waited.catch(() => early));
  };
  return { kind: 'stream', headers, events: events() };
};

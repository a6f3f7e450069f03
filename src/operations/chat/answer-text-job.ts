import { AppError } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import { isSandboxJob } from '../../jobs/public-job.ts';
import type { LiveJob } from '../../jobs/job-runner.ts';
import { isTerminal } from '../../jobs/wait-for-job.ts';
import type { Job } from '../../store/store.ts';
import { toJobError, waitLimit, waitWithProgress } from '../jobs/job-answer.ts';
import {
  type AccountCall,
  type Answer,
  type ServerSentEvent,
  type Services,
  type StreamAnswer,
  jsonAnswer,
} from '../operation.ts';

/** A stream waits this long for the first piece before its status line, so that an early failure is a plain error. */
const streamStartMs = 10_000;

type Events = AsyncIterable<ServerSentEvent>;

export interface StreamTextJobInput {
  job: Job;
  headers: Record<string, string>;
  /** Streams a job that runs in this process, from its beginning. */
  followLive(live: LiveJob): Events;
  /** Streams the same events from a job that has ended, or from an unfinished job when the wait is over. */
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
    // The job ended before the first byte, so a failure is a plain error.
    const finished = await live.finished.catch(() => null);
    if (finished?.status === 'failed') throw toJobError(finished, headers);
    if (finished !== null) return { kind: 'stream', headers, events };
  }
  // The job does not run in this process, so the stream waits for its end.
  const early = await jobs.wait({ job, timeoutMs: streamStartMs, signal });
  if (early.status === 'failed') throw toJobError(early, headers);
  if (isTerminal(early)) return { kind: 'stream', headers, events: replay(early) };
  const events = async function* () {
    const waited = jobs.wait({ job, timeoutMs: config.chatDeadlineMs, signal });
    // A stream that has begun ends in its own form, even when the store does not answer.
    yield* replay(await waited.catch(() => early));
  };
  return { kind: 'stream', headers, events: events() };
};

export interface AnswerTextJobInput extends StreamTextJobInput {
  isStream: boolean;
  /** Says where to read an answer that takes longer than the call may wait. */
  readLater: string;
}

/** Answers a text job, as a stream where REST asks for one. Throws AppError when it failed or takes too long. */
export const answerTextJob = async (
  { isStream, readLater, ...stream }: AnswerTextJobInput,
  call: AccountCall,
  services: Services,
): Promise<Answer> => {
  if (isStream && call.transport === 'rest') return streamTextJob(stream, call, services);
  const { job, headers } = stream;
  const timeoutMs = waitLimit(call.transport, services.config.chatDeadlineMs);
  const finished = await waitWithProgress({ job, timeoutMs }, call, services);
  if (!isTerminal(finished))
    throw new AppError(
      'request_timeout',
      `The ${job.kind === 'chat' ? 'answer' : 'response'} takes longer than this request may wait; it goes on. ${readLater}`,
      { headers: { ...headers, 'x-should-retry': 'false' } },
    );
  if (finished.status === 'failed' || finished.result === null) throw toJobError(finished, headers);
  return jsonAnswer(JSON.parse(finished.result) as JsonObject, {
    headers,
    isSandbox: isSandboxJob(finished),
  });
};

import type { TextServices } from './text-job.ts';
import { parseKept } from '../../kit/json.ts';
import { isSandboxJob, isTerminal } from '../../jobs/public-job.ts';
import type { JobEvent } from '../../jobs/executor.ts';
import type { KnownJob, LiveJob } from '../../jobs/job-runner.ts';
import type { Job } from '../../store/store.ts';
import { billHeaders, keptAnswer, toJobError, waitForEnd } from '../jobs/job-answer.ts';
import {
  type Answer,
  jsonAnswer,
  type SendEvents,
  type ServerSentEvent,
  type StreamAnswer,
} from '../answer.ts';
import type { AccountCall } from '../call.ts';
import type { ToolTask } from '../definition.ts';

/** A stream waits this long for the first piece before its status line, so that an early failure is a plain error. */
const streamStartMs = 10_000;

/** Whether a request is answered as a stream, which only REST can. */
export const isStreamed = (
  { stream }: { stream?: boolean | null | undefined },
  { transport }: Pick<AccountCall, 'transport'>,
): boolean => stream === true && transport === 'rest';

/** Makes something of a request once, for its quote, its check and its run. */
export const onceFor = <Request extends object, Made>(
  make: (request: Request) => Made,
): ((request: Request) => Made) => {
  const kept = new WeakMap<Request, Made>();
  return (request) => {
    const made = kept.get(request) ?? make(request);
    kept.set(request, made);
    return made;
  };
};

/** Writes the server-sent events of one answer. */
export interface TextStream {
  /** Returns the events before the first piece. */
  begin(job: Job): ServerSentEvent[];
  add(piece: JobEvent): ServerSentEvent[];
  /** Returns the events of an ended job's whole answer, in place of those of its pieces. */
  addStored(job: Job): ServerSentEvent[];
  /** Returns the end. A job that has not ended took longer than the stream may wait. */
  end(job: Job): ServerSentEvent[];
}

/** Streams a job that runs in this process from its first piece. `finished` resolves with the job that `end` gets. */
export const streamLive = async (
  stream: TextStream,
  { job, live, finished }: { job: Job; live: LiveJob; finished: () => Promise<Job> },
  { signal, send }: { signal: AbortSignal; send: SendEvents },
): Promise<void> => {
  await send(stream.begin(job));
  await live.feed.read(signal, (pieces) => send(pieces.flatMap((piece) => stream.add(piece))));
  if (!signal.aborted) await send(stream.end(await finished()));
};

/** Streams a job that runs in no process or in another one, after its end. */
export const streamStored = (stream: TextStream, job: Job): ServerSentEvent[] => [
  ...stream.begin(job),
  ...stream.addStored(job),
  ...stream.end(job),
];

/** Answers a text job as a stream, live or finished. Throws AppError when it failed before the first event was due. */
export const streamTextJob = async (
  { job, headers, stream }: { job: Job; headers: Record<string, string>; stream: TextStream },
  { signal }: AccountCall,
  { jobs, config }: TextServices,
): Promise<StreamAnswer> => {
  const wait = (timeoutMs: number): Promise<KnownJob> => jobs.wait({ job, timeoutMs, signal });
  const headersOf = (known: KnownJob, provider?: string | null): Record<string, string> => ({
    ...headers,
    ...billHeaders(known, config, provider),
  });
  const live = jobs.live(job.id);
  if (live !== null) {
    await live.feed.started(streamStartMs);
    // When this process loses the job, another one ends it.
    const finished = (): Promise<Job> =>
      live.finished.catch(() => wait(config.chatDeadlineMs)).catch(() => job);
    const toClient = (send: SendEvents) => streamLive(stream, { job, live, finished }, { signal, send });
    if (jobs.live(job.id) !== null)
      return { kind: 'stream', headers: headersOf(job, live.provider), stream: toClient };
    // The job ended before the first byte, so a failure is a plain error.
    const ended = await live.finished.catch(() => null);
    if (ended?.status === 'failed') throw toJobError(ended, headersOf(ended));
    if (ended !== null) return { kind: 'stream', headers: headersOf(ended), stream: toClient };
  }
  // The job does not run in this process, so the stream waits for its end.
  const early = await wait(streamStartMs);
  if (early.status === 'failed') throw toJobError(early, headersOf(early));
  const toClient = async (send: SendEvents): Promise<void> => {
    // A stream that has begun ends in its own form, even when the store does not answer.
    const last = isTerminal(early) ? early : await wait(config.chatDeadlineMs).catch(() => early);
    await send(streamStored(stream, last));
  };
  return { kind: 'stream', headers: headersOf(early), stream: toClient };
};

export interface AnswerTextJobInput {
  job: Job;
  headers: Record<string, string>;
  /** Makes the events for a caller that gets a stream. */
  stream: TextStream | null;
  /** Says where to read an answer that takes longer than the call may wait. */
  readLater: string;
}

/** Answers a text job. Throws AppError when it failed or takes too long. */
export const answerTextJob = async (
  { job, headers: ownHeaders, stream, readLater }: AnswerTextJobInput,
  call: AccountCall,
  services: TextServices,
): Promise<Answer> => {
  if (stream !== null) return streamTextJob({ job, headers: ownHeaders, stream }, call, services);
  const finished = await waitForEnd({ job, timeoutMs: services.config.chatDeadlineMs }, call, services);
  const headers = { ...ownHeaders, ...billHeaders(finished, services.config) };
  const what = job.kind === 'chat' ? 'answer' : 'response';
  const goesOn = `The ${what} takes longer than this request may wait; it goes on. ${readLater}`;
  const result = keptAnswer(finished, headers, goesOn);
  return jsonAnswer(finished.made ?? parseKept(result), { headers, isSandbox: isSandboxJob(finished) });
};

/** Makes the tasks of a tool whose jobs run in a text model. Their answers are kept with the jobs. */
export const textTask = (kind: 'chat' | 'responses'): ToolTask => ({
  kind,
  pollMs: 1_000,
  keepMs: () => null,
  answer: (job, call, services) =>
    answerTextJob({ job, headers: {}, stream: null, readLater: '' }, call, services),
});

import type { ErrorEnvelope } from '../kit/errors.ts';
import type { JsonObject, Json } from '../kit/json.ts';
import type { Nano } from '../kit/money.ts';
import type { TextEvent } from '../providers/text/text-provider.ts';
import type { Job, NewMedia } from '../store/store.ts';

/** A medium of a job's result: saved before, kept for `keepMs` from the job's end. */
export type ResultMedia = Omit<NewMedia, 'accountId' | 'jobId' | 'expiresAt'> & { keepMs: number };

/** How a job ended. A failed job is never charged. */
export type JobOutcome =
  | { status: 'done'; result: Json; charge: Nano; media: ResultMedia[]; metadata: JsonObject }
  /** `result`: what can be read of it nevertheless (a failed response object). */
  | { status: 'failed'; error: ErrorEnvelope; metadata: JsonObject; result?: Json };

export interface ExecutorContext {
  /** What `JobRunner.start` was given to run the job from; absent where the job's row has it. */
  work?: unknown;
  /** Aborts when the lease is lost or the process must end. */
  signal: AbortSignal;
  /** Tells readers in this process what happens, for streams. */
  emit(event: JobEvent): void;
  /** Notes durably how far the job is (0 to 100), and by which text its upstream task is found again. Throws when the lease was lost. */
  record(update: { progress?: number; providerTask?: string }): Promise<void>;
}

/** A piece of a job's answer, as it comes. */
export type JobEvent = Exclude<TextEvent, { type: 'finish' | 'usage' }>;

/** Runs one attempt of a job to its end. What it throws is a fault of ours: the job fails as `server_error`. */
export type Executor = (job: Job, context: ExecutorContext) => Promise<JobOutcome>;

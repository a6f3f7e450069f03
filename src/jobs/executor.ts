import type { ErrorEnvelope } from '../kit/errors.ts';
import type { JsonObject, Json } from '../kit/json.ts';
import type { Nano } from '../kit/money.ts';
import type { TextEvent } from '../providers/text/text-provider.ts';
import type { Job, NewMedia } from '../store/store.ts';

/** A saved medium of a job's result. It is kept for `keepMs` from the job's end. */
export type ResultMedia = Omit<NewMedia, 'accountId' | 'jobId' | 'expiresAt'> & { keepMs: number };

/** How a job ended. A failed job is never charged. */
export type JobOutcome =
  | {
      status: 'done';
      result: Json;
      charge: Nano;
      /** What the operator pays for it. Null or absent: unknown. */
      cost?: Nano | null;
      media: ResultMedia[];
      metadata: JsonObject;
    }
  /** `result`: the part that can still be read, such as a failed response object. */
  | { status: 'failed'; error: ErrorEnvelope; metadata: JsonObject; result?: Json }
  /** No upstream took it, because every route rests. Only a queued job may end an attempt so. */
  | { status: 'queued' };

export interface ExecutorContext {
  /** The work that was passed to `JobRunner.start`; absent if the job's row has it. */
  work?: unknown;
  /** The job was claimed from the queue, and may go back there. Else somebody waits for it. */
  isQueued: boolean;
  /** Aborts if the lease is lost or the process must end. */
  signal: AbortSignal;
  emit(event: JobEvent): void;
  /** Notes the name of the provider whose answer has begun, for readers in this process. */
  served(provider: string): void;
  /** Stores the progress (0 to 100) and the text that identifies the upstream's task. Throws if the lease was lost. */
  record(update: { progress?: number; providerTask?: string }): Promise<void>;
}

export type JobEvent = Exclude<TextEvent, { type: 'finish' | 'usage' }>;

/** Runs one attempt of a job to its end. If it throws, the job fails as `server_error`. */
export type Executor = (job: Job, context: ExecutorContext) => Promise<JobOutcome>;

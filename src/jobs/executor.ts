import type { ErrorEnvelope } from '../errors.ts';
import type { JsonObject, Json } from '../json.ts';
import type { Nano } from '../money.ts';
import type { Job, NewMedia } from '../store/store.ts';

/** How a job ended. A failed job is never charged. */
export type JobOutcome =
  | { status: 'done'; result: Json; charge: Nano; media: NewMedia[]; metadata: JsonObject }
  | { status: 'failed'; error: ErrorEnvelope; metadata: JsonObject };

export interface ExecutorContext {
  /** Aborts when the lease is lost or the process must end. */
  signal: AbortSignal;
  /** Tells readers in this process what happens, for streams. */
  emit(event: JobEvent): void;
}

/** A piece of a job's answer, as it comes. */
export type JobEvent =
  | { type: 'content'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'refusal'; text: string }
  | { type: 'tool_call'; index: number; id?: string; name?: string; arguments: string };

/** Runs one attempt of a job to its end. What it throws is a fault of ours: the job fails as `server_error`. */
export type Executor = (job: Job, context: ExecutorContext) => Promise<JobOutcome>;

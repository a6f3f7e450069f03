import { ROOT_CONTEXT, SpanKind, type SpanContext } from '@opentelemetry/api';
import { LRUCache } from 'lru-cache';
import type { Executor, JobOutcome } from '../jobs/executor.ts';
import { nanoPerUsd } from '../kit/money.ts';
import type { Job, JobKind } from '../store/store.ts';
import type { Metering } from './metering.ts';
import { spanAttributes as name } from './names.ts';
import type { OpenSpan, Tracing } from './tracing.ts';

/** The span in which a job was opened, and whether the job was queued then. */
interface JobOpener {
  span: SpanContext;
  isQueued: boolean;
}

/** The openers of recent jobs, by id. Another process does not know them, and its spans have no link. */
export type JobOpeners = Pick<LRUCache<string, JobOpener>, 'get' | 'set'>;

export const createJobOpeners = (): JobOpeners => new LRUCache({ max: 1_000 });

interface Parts {
  tracing: Tracing;
  metering: Metering;
  openers: JobOpeners;
}

/** Watches attempts at jobs: duration, outcome, charge; and a trace of its own for each that was queued. */
export const observeExecutors = (
  executors: Partial<Record<JobKind, Executor>>,
  parts: Parts,
): Partial<Record<JobKind, Executor>> =>
  Object.fromEntries(
    Object.entries(executors).map(([kind, execute]) => [kind, observeExecutor(execute, parts)]),
  );

const observeExecutor =
  (execute: Executor, { tracing, metering, openers }: Parts): Executor =>
  async (job, context) => {
    const startedAt = performance.now();
    const facts = { 'causeway.kind': job.kind, [name.sku]: job.model };
    const tell = (status: string, errorType?: string): void =>
      metering.record('jobs', (performance.now() - startedAt) / 1_000, {
        ...facts,
        'causeway.status': status,
        ...(errorType === undefined ? {} : { [name.errorType]: errorType }),
      });
    const span = startSpan(job, { tracing, openers });
    try {
      const outcome = await tracing.run(span.context, () => execute(job, context));
      const errorType = errorOf(outcome);
      tell(outcome.status, errorType);
      if (outcome.status === 'done' && outcome.charge > 0n)
        metering.record('charges', Number(outcome.charge) / Number(nanoPerUsd), facts);
      span.end(errorType);
      return outcome;
    } catch (error) {
      // The lease was lost or the process ends; or it is a fault, with which the job fails.
      const errorType = context.signal.aborted ? 'canceled' : 'server_error';
      tell(context.signal.aborted ? 'left' : 'failed', errorType);
      span.end(errorType);
      throw error;
    }
  };

const errorOf = (outcome: JobOutcome): string | undefined =>
  outcome.status === 'failed' ? (outcome.error.code ?? outcome.error.type) : undefined;

/** A queued job runs in the request or timer that claimed it. Its trace does not belong to either. */
const startSpan = (job: Job, { tracing, openers }: Pick<Parts, 'tracing' | 'openers'>): OpenSpan => {
  const opener = openers.get(job.id);
  const attributes = { [name.jobId]: job.id, [name.sku]: job.model };
  if (opener?.isQueued === false) return tracing.start(`run ${job.kind}`, { attributes });
  const links = opener === undefined ? [] : [{ context: opener.span }];
  return tracing.start(`run ${job.kind}`, { kind: SpanKind.CONSUMER, attributes, links }, ROOT_CONTEXT);
};

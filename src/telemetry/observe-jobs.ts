import { ROOT_CONTEXT, SpanKind, type SpanContext } from '@opentelemetry/api';
import { LRUCache } from 'lru-cache';
import type { Executor, JobOutcome } from '../jobs/executor.ts';
import { nanoPerUsd } from '../kit/money.ts';
import { StoreError } from '../store/store-error.ts';
import type {
  AdvanceCreditInput,
  AdvancePaymentInput,
  Job,
  JobKind,
  OpenJobInput,
  Store,
  WebhookAttemptInput,
} from '../store/store.ts';
import type { Metering, Watching } from './metering.ts';
import { spanAttributes as name } from './names.ts';
import type { OpenSpan } from './tracing.ts';

/** The span in which a job was opened, and whether the job was queued then. */
interface JobOpener {
  span: SpanContext;
  isQueued: boolean;
}

/** The openers of recent jobs, by id. Another process does not know them, and its spans have no link. */
type JobOpeners = Pick<LRUCache<string, JobOpener>, 'get' | 'set'>;

export const createJobOpeners = (): JobOpeners => new LRUCache({ max: 1_000 });

interface Parts extends Watching {
  openers: JobOpeners;
}

export type Executors = Partial<Record<JobKind, Executor>>;

/** Watches attempts at jobs: duration, outcome, charge; and a trace of its own for each that was queued. */
export const observeExecutors = (executors: Executors, parts: Parts): Executors =>
  Object.fromEntries(
    Object.entries(executors).map(([kind, execute]) => [kind, observeExecutor(execute, parts)]),
  );

const observeExecutor =
  (execute: Executor, { tracing, metering, openers }: Parts): Executor =>
  async (job, context) => {
    const span = startSpan(job, { tracing, openers });
    const labels = { 'causeway.kind': job.kind, [name.sku]: job.model };
    const end = metering.time('jobs', { span, labels });
    try {
      const outcome = await tracing.run(span.context, () => execute(job, context));
      if (outcome.status === 'done' && outcome.charge > 0n)
        metering.record('charges', Number(outcome.charge) / Number(nanoPerUsd), labels);
      end(errorOf(outcome), { 'causeway.status': outcome.status === 'queued' ? 'left' : outcome.status });
      return outcome;
    } catch (error) {
      // The lease was lost or the process ends; or it is a fault, with which the job fails.
      if (context.signal.aborted) end('canceled', { 'causeway.status': 'left' });
      else end('server_error', { 'causeway.status': 'failed' });
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

type Run = (input: unknown) => Promise<unknown>;

/** These are no commands. */
const unwatched: readonly string[] = ['kind', 'onJobQueued', 'close'];
/** The `db.system.name` of the engines. */
const systems = { sqlite: 'sqlite', postgres: 'postgresql' } as const;

/** Watches every command of a store: its duration, a span in a trace that is kept, and what some of them mean. */
export const observeStore = (store: Store, parts: Parts): Store =>
  // Each method takes and returns what it did.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  Object.fromEntries(
    Object.entries(store).map(([method, run]) => [
      method,
      unwatched.includes(method)
        ? run
        : observeCommand(method, run as Run, { ...parts, system: systems[store.kind] }),
    ]),
  ) as unknown as Store;

const observeCommand = (
  command: string,
  run: Run,
  { tracing, metering, openers, system }: Parts & { system: string },
): Run => {
  const labels = { [name.dbSystem]: system, [name.dbOperation]: command };
  const meaning = meanings[command];
  return async (input) => {
    const parent = tracing.activeSpan();
    if (command === 'openJob' && tracing.isOn && parent !== undefined) {
      const { id, status } = (input as OpenJobInput).job;
      openers.set(id, { span: parent.spanContext(), isQueued: status === 'queued' });
    }
    const span =
      parent?.isRecording() === true
        ? tracing.start(command, { kind: SpanKind.CLIENT, attributes: labels })
        : null;
    const end = metering.time('commands', { span, labels });
    try {
      const output = await run(input);
      end();
      meaning?.(metering, input, output);
      return output;
    } catch (error) {
      end(error instanceof StoreError ? error.reason : 'failed');
      throw error;
    }
  };
};

type Meaning = (metering: Metering, input: unknown, output: unknown) => void;

const tellMove = (metering: Metering, { from, to }: AdvancePaymentInput): void => {
  // The renewal of a lease is no move.
  if (!from.includes(to)) metering.record('paymentMoves', 1, { 'causeway.state': to });
};

/** The commands that are events of their own. Their inputs are those of the store's methods. */
const meanings: Readonly<Record<string, Meaning>> = {
  advancePayment: (metering, input, output) => {
    if (output !== null) tellMove(metering, input as AdvancePaymentInput);
  },
  advanceCredit: (metering, input, output) => {
    if (output !== null) tellMove(metering, (input as AdvanceCreditInput).change);
  },
  recordWebhookAttempt: (metering, input, output) => {
    if (output === true)
      metering.record('webhookAttempts', 1, { 'causeway.state': (input as WebhookAttemptInput).state });
  },
};

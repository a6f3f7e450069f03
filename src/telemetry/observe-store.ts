import { SpanKind } from '@opentelemetry/api';
import { StoreError } from '../store/store-error.ts';
import type {
  AdvanceCreditInput,
  AdvancePaymentInput,
  OpenJobInput,
  Store,
  WebhookAttemptInput,
} from '../store/store.ts';
import type { Metering } from './metering.ts';
import { spanAttributes as name } from './names.ts';
import type { JobOpeners } from './observe-executors.ts';
import type { Tracing } from './tracing.ts';

interface Parts {
  tracing: Tracing;
  metering: Metering;
  openers: JobOpeners;
}

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
  const facts = { [name.dbSystem]: system, [name.dbOperation]: command };
  const meaning = meanings[command];
  return async (input) => {
    const startedAt = performance.now();
    const parent = tracing.activeSpan();
    if (command === 'openJob' && tracing.isOn && parent !== undefined) {
      const { id, status } = (input as OpenJobInput).job;
      openers.set(id, { span: parent.spanContext(), isQueued: status === 'queued' });
    }
    const span =
      parent?.isRecording() === true
        ? tracing.start(command, { kind: SpanKind.CLIENT, attributes: facts })
        : null;
    const end = (errorType?: string): void => {
      span?.end(errorType);
      metering.record(
        'commands',
        (performance.now() - startedAt) / 1_000,
        errorType === undefined ? facts : { ...facts, [name.errorType]: errorType },
      );
    };
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

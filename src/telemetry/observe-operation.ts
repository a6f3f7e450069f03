import { SpanKind, type Attributes } from '@opentelemetry/api';
import { AppError } from '../kit/errors.ts';
import type { Answer } from '../operations/answer.ts';
import type { Call, ObserveOperation } from '../operations/call.ts';
import type { Metering } from './metering.ts';
import { spanAttributes as name } from './names.ts';
import type { OpenSpan, Tracing } from './tracing.ts';

/** Watches `execute`: a span for each call of an operation, which ends with its answer, and a metric of tool calls. */
export const createObserveOperation = ({
  tracing,
  metering,
}: {
  tracing: Tracing;
  metering: Metering;
}): ObserveOperation => {
  return async (operation, call, perform) => {
    const startedAt = performance.now();
    const span = startSpan(tracing, operation, call);
    const end = (errorType?: string): void => {
      span.end(errorType);
      if (call.transport === 'mcp')
        metering.record('toolCalls', (performance.now() - startedAt) / 1_000, {
          [name.mcpMethod]: 'tools/call',
          [name.tool]: operation.name,
          ...(errorType === undefined ? {} : { [name.errorType]: errorType }),
        });
    };
    try {
      const answer = await tracing.run(span.context, perform);
      if (answer.kind === 'stream') return endWithStream(answer, call, end);
      end(answer.kind === 'payment_required' ? answer.kind : undefined);
      return answer;
    } catch (error) {
      end(error instanceof AppError ? error.code : 'server_error');
      throw error;
    }
  };
};

const startSpan = (
  tracing: Tracing,
  operation: Parameters<ObserveOperation>[0],
  { transport, requestId, trace: carrier }: Call,
): OpenSpan => {
  const facts: Attributes = { [name.operation]: operation.name, [name.requestId]: requestId };
  if (transport !== 'mcp') return tracing.start(operation.name, { attributes: facts });
  const request = tracing.activeSpan();
  const parent = carrier?.['traceparent'] === undefined ? undefined : tracing.parentOf(carrier);
  return tracing.start(
    `tools/call ${operation.name}`,
    {
      kind: SpanKind.SERVER,
      attributes: {
        ...facts,
        [name.mcpMethod]: 'tools/call',
        [name.tool]: operation.name,
        [name.genAiOperation]: 'execute_tool',
      },
      // The message's own trace is its parent; the request that carried it is linked.
      links: parent === undefined || request === undefined ? [] : [{ context: request.spanContext() }],
    },
    parent,
  );
};

/** Ends the span with the last event, or when the client has gone. */
const endWithStream = (
  answer: Extract<Answer, { kind: 'stream' }>,
  { signal }: Call,
  end: (errorType?: string) => void,
): Answer => {
  let isOpen = true;
  const endOnce = (errorType?: string): void => {
    if (isOpen) end(errorType);
    isOpen = false;
  };
  signal.addEventListener('abort', () => endOnce('client_gone'), { once: true });
  return {
    ...answer,
    stream: async (send) => {
      try {
        await answer.stream(send);
        endOnce();
      } catch (error) {
        endOnce('server_error');
        throw error;
      }
    },
  };
};

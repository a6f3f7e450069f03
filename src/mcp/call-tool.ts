import {
  ProtocolError,
  ProtocolErrorCode,
  type CallToolRequestParams,
  type CallToolResult,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Caller } from '../accounts/authenticate.ts';
import { AppError, toAppError } from '../kit/errors.ts';
import { isJsonObject, type JsonObject } from '../kit/json.ts';
import type { Log } from '../kit/log.ts';
import { logFailure } from '../kit/write-answer.ts';
import { previewOf } from '../operations/images/preview-image.ts';
import { execute } from '../operations/execute.ts';
import type { Answer } from '../operations/answer.ts';
import type { Call, Services } from '../operations/call.ts';
import type { Operation, ToolOperation } from '../operations/definition.ts';
import { rulesOf } from '../operations/sale-rules.ts';
import { takesTasks, taskScopes, toTask } from './to-task.ts';
import type { ToolGroup, ToolList, McpIdentity } from './tool-list.ts';
import { createToolWords } from './tool-words.ts';
import { toErrorResult, toPaymentRequiredResult, toToolResult } from './tool-result.ts';
import { longestIdempotencyKey } from '../operations/prepaid.ts';

/** The part of the protocol's request context that a call needs. */
export type ToolCallContext = {
  mcpReq: Pick<ServerContext['mcpReq'], '_meta' | 'envelope' | 'signal'> &
    Partial<Pick<ServerContext['mcpReq'], 'notify'>>;
};

/**
 * Answers `tools/call` through `execute`. A refusal or a fault is a tool error, which the model reads. Only an unknown
 * tool is an error of the protocol.
 */
export const createCallTool = ({
  operations,
  tools,
  services,
}: {
  operations: readonly ToolOperation[];
  tools: ToolList;
  services: Services;
}) => {
  const inToolWords = createToolWords(operations);
  return async (
    params: CallToolRequestParams,
    context: ToolCallContext,
    identity: McpIdentity,
  ): Promise<CallToolResult> => {
    const operation = tools.find(identity.group, params.name);
    if (operation === null)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name.slice(0, 128)}`);
    const requestId = identity.requestId();
    try {
      const input = params.arguments ?? {};
      const call = await toCall(operation, input, context, { identity, requestId, log: services.log });
      const executing = execute(operation, input, call, services);
      // The work may outlive the client.
      identity.memory.holdUntil(executing);
      const answer = await executing;
      const { task } = operation.tool;
      // The library gives a task an empty content, too.
      return answer.kind === 'task' && task !== undefined
        ? { content: [], ...toTask(answer.job, task, services.config), resultType: 'task' }
        : await toResult(answer, { memory: identity.memory, signal: context.mcpReq.signal }, services);
    } catch (thrown) {
      const error = toAppError(thrown);
      logFailure(services.log, error, {
        what: 'a tool call',
        facts: { requestId, tool: operation.name },
        isClientGone: context.mcpReq.signal.aborted,
      });
      return toErrorResult(inToolWords(error));
    }
  };
};

/** Tells a model that its connection lacks a scope. */
export const mayNot = (scope: string): string =>
  `This connection may not "${scope}". Connect again, and allow it.`;

/** What a connection must allow for a tool. */
const scopeOf = ({ group, tool }: Operation): string =>
  group === 'search' ? 'search' : tool?.readOnly === true ? 'read' : 'generate';

/** Returns a function that tells the scope which a connection needs for a message; null: none. */
export const createScopeFor =
  (tools: ToolList, resources: { needsCaller(uri: string): boolean }) =>
  (group: ToolGroup, { method, params }: JsonObject): string | null => {
    const { name = null, uri = null } = isJsonObject(params) ? params : {};
    const tool = method === 'tools/call' && typeof name === 'string' ? tools.find(group, name) : null;
    if (tool !== null) return scopeOf(tool);
    if (typeof method === 'string' && taskScopes.has(method)) return taskScopes.get(method) ?? null;
    const isKept = method === 'resources/read' && typeof uri === 'string' && resources.needsCaller(uri);
    return isKept ? 'read' : null;
  };

/** A task is read by its account alone. The receipt of a payment belongs into an answer. */
const takesTask = (caller: Caller | null, payment: unknown, context: ToolCallContext): boolean =>
  caller !== null &&
  caller.scopes?.includes('read') !== false &&
  payment === undefined &&
  takesTasks(context);

const toCall = async (
  operation: Operation,
  input: Record<string, unknown>,
  context: ToolCallContext,
  { identity, requestId, log }: { identity: McpIdentity; requestId: string; log: Log },
): Promise<Call> => {
  const { _meta: meta, signal, notify } = context.mcpReq;
  const caller = await identity.caller();
  const rules = rulesOf(operation.sale);
  if (caller === null && rules.key === 'needed')
    throw new AppError('invalid_api_key', `This tool needs an API key. ${identity.keyHint}`);
  const scope = scopeOf(operation);
  if (caller?.scopes?.includes(scope) === false) throw new AppError('permission_denied', mayNot(scope));
  const payment = meta?.['x402/payment'];
  const progressToken = meta?.progressToken;
  return {
    transport: 'mcp',
    requestId,
    caller,
    clientAddress: identity.clientAddress,
    idempotencyKey: rules.isPrepaid ? readIdempotencyKey(input['idempotency_key']) : null,
    proofs: rules.isPaid && identity.group !== 'directory' ? { meta: payment } : null,
    memory: identity.memory,
    signal,
    trace: meta,
    ...(operation.tool?.task !== undefined && takesTask(caller, payment, context) ? { takesTask: true } : {}),
    ...(progressToken === undefined || notify === undefined
      ? {}
      : {
          progress: ({ elapsedMs, message }) => {
            const params = { progressToken, progress: elapsedMs / 1000, message };
            // The client has gone; the signal of its call is aborted as well.
            notify({ method: 'notifications/progress', params }).catch((error: unknown) =>
              log.debug({ err: error, requestId }, 'progress was not delivered'),
            );
          },
        }),
  };
};

const readIdempotencyKey = (value: unknown): string | null => {
  if (value === undefined || value === null) return null;
  if (
    typeof value === 'string' &&
    value.length >= 1 &&
    value.length <= longestIdempotencyKey &&
    !value.includes('\0')
  )
    return value;
  throw new AppError(
    'invalid_parameter',
    `idempotency_key: must be a string of 1 to ${longestIdempotencyKey} characters, none of them NUL`,
    { param: 'idempotency_key' },
  );
};

export const toResult = async (
  answer: Answer,
  call: Pick<Call, 'memory' | 'signal'>,
  services: Services,
): Promise<CallToolResult> => {
  switch (answer.kind) {
    case 'json': {
      const result = toToolResult(answer, services.config);
      const image = answer.links.find(({ mimeType }) => mimeType?.startsWith('image/'));
      const preview = image === undefined ? null : await previewOf(image.url, call, services);
      return preview === null
        ? result
        : { ...result, content: [...result.content, { type: 'image', ...preview }] };
    }
    case 'payment_required':
      return toPaymentRequiredResult(answer);
    case 'stream':
    case 'content':
    case 'task':
      throw new Error(`an operation answered ${answer.kind} to a tool call`);
  }
};

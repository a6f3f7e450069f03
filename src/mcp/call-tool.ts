import {
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolRequestParams,
  type CallToolResult,
  type InputRequiredResult,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Caller } from '../accounts/authenticate.ts';
import { AppError, toAppError } from '../kit/errors.ts';
import { isJsonObject, type JsonObject } from '../kit/json.ts';
import { logFailure } from '../kit/write-answer.ts';
import { execute } from '../operations/execute.ts';
import type { Call, Services } from '../operations/call.ts';
import type { Operation } from '../operations/definition.ts';
import { isReadByProof, rulesOf } from '../operations/sale-rules.ts';
import { hasProof } from '../payments/sale/gate.ts';
import type { AskByUrl } from './ask-by-url.ts';
import { isMountedName } from './tool-catalogue.ts';
import { takesTasks, taskScopes, toTask } from './to-task.ts';
import type { ToolGroup, ToolList, McpIdentity } from './tool-list.ts';
import type { ToolAnswers } from './tool-result.ts';
import { longestIdempotencyKey } from '../operations/prepaid.ts';

/** The part of the protocol's request context that a call needs. */
export type ToolCallContext = {
  mcpReq: Pick<ServerContext['mcpReq'], '_meta' | 'envelope' | 'signal'> &
    Partial<Pick<ServerContext['mcpReq'], 'notify' | 'requestState'>>;
};

/**
 * Answers `tools/call` through `execute`. A refusal or a fault is a tool error, which the model reads. Only an unknown
 * tool is an error of the protocol.
 */
export const createCallTool =
  ({
    tools,
    answers,
    services,
    askByUrl,
  }: {
    tools: ToolList;
    answers: ToolAnswers;
    services: Services;
    askByUrl: AskByUrl;
  }) =>
  (
    params: CallToolRequestParams,
    context: ToolCallContext,
    identity: McpIdentity,
  ): Promise<CallToolResult | InputRequiredResult> => {
    const operation = tools.find(identity.group, params.name);
    if (operation === null)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name.slice(0, 128)}`);
    const { task } = operation.tool;
    const input = params.arguments ?? {};
    return answerCall(
      { operation, input, key: { name: 'idempotency_key', value: input['idempotency_key'] } },
      context,
      {
        identity,
        services,
        askByUrl,
        toRefusal: answers.toRefusal,
        // The library gives a task an empty content, too.
        toResult: async (answer, call) =>
          answer.kind === 'task' && task !== undefined
            ? { content: [], ...toTask(answer.job, task, services.config), resultType: 'task' }
            : answers.toResult(answer, call),
      },
    );
  };

/** A call of an operation. `key`: the idempotency key as it was sent, and where. */
interface OperationCall {
  operation: Operation;
  input: Record<string, unknown>;
  key: { name: string; value: unknown };
}

/** Answers a call of a tool by an operation. A refusal or a fault is a tool error, in the words of tools. */
export const answerCall = async (
  called: OperationCall,
  context: ToolCallContext,
  {
    identity,
    services,
    toResult,
    toRefusal,
    askByUrl,
  }: { identity: McpIdentity; services: Services; askByUrl: AskByUrl } & Pick<
    ToolAnswers,
    'toResult' | 'toRefusal'
  >,
): Promise<CallToolResult | InputRequiredResult> => {
  const { operation, input } = called;
  try {
    const call = await toToolCall(called, context, { identity, services });
    const executing = execute(operation, input, call, services);
    // The work may outlive the client.
    identity.memory.holdUntil(executing);
    const answer = await executing;
    const result = await toResult(answer, call);
    const { page } = answer.kind === 'payment_required' ? answer : {};
    if (page === undefined) return result;
    const asking = await askByUrl({ page, message: needsMoney, meta: result._meta }, context);
    return asking ?? { ...result, content: [...result.content, { type: 'text', text: openFirst(page) }] };
  } catch (thrown) {
    const error = toAppError(thrown);
    logFailure(services.log, error, {
      what: 'a tool call',
      facts: { requestId: identity.requestId(), tool: operation.name },
      isClientGone: context.mcpReq.signal.aborted,
    });
    const refusal = toRefusal(error);
    const { page, code, message } = error;
    if (page === undefined) return refusal;
    const shown = code === 'insufficient_balance' ? needsMoney : message;
    const asking = await askByUrl({ page, message: shown, meta: refusal._meta }, context);
    return asking ?? toRefusal(error.withMessage(`${message} ${openFirst(page)}`));
  }
};

const needsMoney = 'The balance does not cover this call. The page tells how to add money.';

/** Tells a model to show a person a page. */
const openFirst = (page: string): string =>
  `Ask the person to open ${page} and, when they are done, call again with the same arguments.`;

/** Tells a model that its connection lacks a scope. */
export const mayNot = (scope: string): string =>
  `This connection may not "${scope}". Connect again, and allow it.`;

/** What a connection must allow for a tool. */
const scopeOf = ({ group, tool }: Operation): string =>
  group === 'search' || group === 'tools' ? group : tool?.readOnly === true ? 'read' : 'generate';

/** Returns a function that tells the scope which a connection needs for a message; null: none. */
export const createScopeFor =
  (tools: ToolList, resources: { scopeFor(uri: string): string | null }, mounts: Services['mounts']) =>
  (group: ToolGroup, { method, params }: JsonObject): string | null => {
    const { name = null, uri = null } = isJsonObject(params) ? params : {};
    const called = method === 'tools/call' && typeof name === 'string' ? name : null;
    const tool = called === null ? null : tools.find(group, called);
    if (tool !== null) return scopeOf(tool);
    const hasTools = group === 'all' && mounts.accountServers.length > 0;
    if (called !== null && hasTools && isMountedName(called)) return 'tools';
    if (typeof method === 'string' && taskScopes.has(method)) return taskScopes.get(method) ?? null;
    return method === 'resources/read' && typeof uri === 'string' ? resources.scopeFor(uri) : null;
  };

/** A task is read by its account alone. The receipt of a payment belongs into an answer. */
const takesTask = (caller: Caller | null, payment: unknown, context: ToolCallContext): boolean =>
  caller !== null &&
  caller.scopes?.includes('read') !== false &&
  payment === undefined &&
  takesTasks(context);

/** The part of a message's context that every call needs. */
export type MessageContext = Pick<ServerContext['mcpReq'], '_meta' | 'signal'>;

/**
 * Makes the call of a message. It pays nothing, and no key of its own repeats it. Rejects with AppError when the client's
 * key has ended.
 */
export const toCall = async (identity: McpIdentity, { _meta, signal }: MessageContext): Promise<Call> => ({
  transport: 'mcp',
  requestId: identity.requestId(),
  caller: await identity.caller(),
  clientAddress: identity.clientAddress,
  idempotencyKey: null,
  proofs: null,
  memory: identity.memory,
  signal,
  trace: _meta,
});

const toToolCall = async (
  { operation, key }: OperationCall,
  context: ToolCallContext,
  { identity, services }: { identity: McpIdentity; services: Services },
): Promise<Call> => {
  const { log } = services;
  const { _meta: meta, notify, signal, envelope } = context.mcpReq;
  const call = await toCall(identity, context.mcpReq);
  const { caller, requestId } = call;
  const rules = rulesOf(operation.sale);
  const payment = meta?.['x402/payment'];
  const isRead = isReadByProof(operation.sale, services);
  if (caller === null && rules.key === 'needed' && !(isRead && hasProof({ meta: payment })))
    throw new AppError(
      'invalid_api_key',
      `This tool needs an API key${isRead ? ', or in _meta["x402/payment"] the proof that paid for what it reads' : ''}. ${identity.keyHint}`,
    );
  if (rules.isSignIn && identity.hasKey)
    throw new AppError(
      'permission_denied',
      'A wallet signs in on a connection without a key; this one has one.',
    );
  const scope = scopeOf(operation);
  if (caller?.scopes?.includes(scope) === false) throw new AppError('permission_denied', mayNot(scope));
  const progressToken = meta?.progressToken;
  const sent: Readonly<Record<string, unknown>> | undefined = envelope ?? meta;
  return {
    ...call,
    idempotencyKey: rules.isPrepaid ? readIdempotencyKey(key) : null,
    proofs:
      (isRead || (rules.isPaid && !rules.isSignIn)) && identity.group !== 'directory'
        ? { meta: payment }
        : null,
    ...(identity.group === 'directory' ? {} : { asksForMoney: true as const }),
    ...(operation.tool?.task !== undefined && takesTask(caller, payment, context) ? { takesTask: true } : {}),
    ...(progressToken !== undefined &&
      notify && {
        progress: onlyGrowing((progress) => {
          const params = { progressToken, ...progress };
          // The client has gone; the signal of its call is aborted as well.
          notify({ method: 'notifications/progress', params }).catch((error: unknown) =>
            log.debug({ err: error, requestId }, 'progress was not delivered'),
          );
        }),
      }),
    // Since 2026-07-28 a client cancels a call as it closes its stream. Before, that means only that a connection was lost.
    ...(sent?.[PROTOCOL_VERSION_META_KEY] === undefined ? {} : { cancelled: signal }),
  };
};

/** The protocol wants each number to be more than the last. A sign of life has one that is a little more. */
const onlyGrowing = (tell: (update: { progress: number }) => void): NonNullable<Call['progress']> => {
  let last = -1;
  return ({ progress = Math.max(0, last) + 0.001, ...rest }) => {
    if (progress <= last) return;
    last = progress;
    tell({ progress, ...rest });
  };
};

const readIdempotencyKey = ({ name, value }: OperationCall['key']): string | null => {
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
    `${name}: must be a string of 1 to ${longestIdempotencyKey} characters, none of them NUL`,
    { param: name },
  );
};

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ErrorCode, McpError, type Request } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { OutboundSend } from '../http/create-outbound.ts';
import { isUnsent } from '../http/outbound.ts';
import { PurchaseError, type CallProof, type PayingCaller, type TriedCall } from '../http/pay-settings.ts';
import { isJsonObject, type Json, type JsonObject } from '../kit/json.ts';
import type { Log } from '../kit/log.ts';
import { callWithin } from '../kit/deadline.ts';
import { createHttpTransport, httpExtra, type HttpPayment } from './create-http-transport.ts';
import { createStdioTransport } from './create-stdio-transport.ts';
import { hideSecrets, toReason } from './hide-secrets.ts';
import type { MountConfig, MountTarget } from './mount-settings.ts';
import {
  BusyError,
  failedResult,
  PaymentRequiredError,
  UnsentError,
  type CallContext,
  type MountedServer,
  type ToolOutcome,
} from './mounted-server.ts';
import type { ProcessGroups } from './process-groups.ts';
import { readBill, readResult, unpaidResult, type ResultLimits } from './read-result.ts';

export interface ConnectParts {
  log: Log;
  outbound: OutboundSend;
  /** `traceHeaders`: returns headers that make a server's spans children of ours. */
  telemetry?: { traceHeaders: () => Record<string, string> } | null | undefined;
  groups: Pick<ProcessGroups, 'note' | 'forget'>;
  /** Pay for the calls of servers, by their names. Absent: nothing is paid. */
  payers?: ReadonlyMap<string, PayingCaller>;
  /** How we name ourselves. */
  clientInfo: { name: string; version: string };
  /** Called when the server says that its tools have changed. */
  onToolsChanged: () => void;
  /** Ends the attempt to connect. */
  signal: AbortSignal;
}

const maxPages = 20;
const maxTools = 200;
const maxErrorText = 2_000;
/** How long a server has to end its answer by itself, or to hear that the question is cancelled. */
const lastWordsMs = 500;
/** Of progress, in characters. */
const maxMessage = 200;

/** Every object: what a server answers is checked tool by tool, so that one bad part loses nothing else. */
const anything = z.looseObject({});

/**
 * Opens a connection to a server, with the SDK's client of the protocol up to 2025-11-25. All callers share it, so it takes
 * no questions to a caller (sampling, elicitation, roots): nobody could tell whose they are. Rejects when the server
 * cannot be reached.
 */
export const connectServer = async (
  config: MountConfig,
  { telemetry, payers, clientInfo, onToolsChanged, signal: ending, ...parts }: ConnectParts,
): Promise<MountedServer> => {
  const { target, timeouts, tools, result } = config;
  const { answerMs } = timeouts;
  const client = new Client(clientInfo, { capabilities: {} });
  const transport = createTransport(config, parts);
  const ended = Promise.withResolvers<void>();
  Object.assign(client, {
    onerror: (error) => parts.log.debug(toMistake(error, target), 'a mounted server made a mistake'),
    onclose: () => ended.resolve(),
    fallbackNotificationHandler: async ({ method }) => {
      if (method === 'notifications/tools/list_changed') onToolsChanged();
    },
  } satisfies Partial<Client>);
  const close = async (): Promise<void> => {
    await transport.close();
    ended.resolve();
  };
  try {
    // The SDK waits longer for a server that takes the greeting and never ends its answer to what follows.
    await callWithin({
      call: (signal) => client.connect(transport, { timeout: answerMs, signal }),
      timeoutMs: 2 * answerMs,
      signal: ending,
    });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    ended: ended.promise,
    close,
    list: async (signal) => {
      const listed: unknown[] = [];
      const cursors = new Set<Json>();
      for (let cursor: Json | undefined; cursors.size < maxPages && listed.length < maxTools;) {
        const params = cursor === undefined ? {} : { cursor };
        // The SDK never leaves a signal, so it gets one for each question.
        const page = await callWithin({
          call: (own) => ask(client, { method: 'tools/list', params }, { signal: own, timeout: answerMs }),
          signal,
        });
        if (Array.isArray(page['tools'])) listed.push(...page['tools'].slice(0, maxTools - listed.length));
        cursor = page['nextCursor'];
        if (typeof cursor !== 'string' || cursors.has(cursor)) break;
        cursors.add(cursor);
      }
      return listed;
    },
    call: async (name, input, context) => {
      if (client.transport === undefined)
        return { kind: 'unsent', cause: new UnsentError('the connection has ended') };
      const { fixed, defaults, max_characters: maxCharacters = result.maxCharacters } = tools.get(name) ?? {};
      const limits = { ...result, maxCharacters };
      const params = { name, arguments: { ...defaults, ...input, ...fixed } };
      const traceparent = telemetry?.traceHeaders()['traceparent'] ?? context.traceparent;
      try {
        const given = { ...context, traceparent, timeouts };
        const pay = payers?.get(config.name);
        const sold = { ...params, input: params.arguments, maxPrice: context.maxCost ?? 0n };
        let isPaid = false;
        const answer = await (pay === undefined
          ? callTool(client, params, given)
          : pay({ ...sold, signal: context.signal }, (proof) => {
              isPaid ||= proof !== null;
              return tryCall(client, params, { ...given, proof });
            }));
        return { kind: 'answered', result: readResult(answer, { ...limits, isPaid }) };
      } catch (error) {
        return toOutcome(error, { limits, target });
      }
    },
  };
};

/** The SDK keeps a request that could not be sent, with all that it has, until an answer comes, so this gives it one. */
const createTransport = (
  { target, timeouts }: MountConfig,
  { outbound, ...parts }: Pick<ConnectParts, 'log' | 'groups' | 'outbound'>,
): Transport => {
  const transport =
    target.kind === 'stdio'
      ? createStdioTransport(target, parts)
      : createHttpTransport(target, { outbound, timeouts });
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    try {
      await send(message, options);
    } catch (cause) {
      const error = { code: ErrorCode.ConnectionClosed, message: 'the request was not sent' };
      // Later, as the cause is what the caller is to hear.
      if ('method' in message && 'id' in message)
        setImmediate(() => transport.onmessage?.({ jsonrpc: '2.0', id: message.id, error }));
      throw cause;
    }
  };
  return transport;
};

/** Takes from an error of the SDK what is for the log: not the message in it, which may have what customers sent or got. */
const toMistake = ({ message }: Error, target: MountTarget) => ({
  reason: toReason(new Error(message.replace(/["{[].*/s, '')), target),
  method: /"method":"([\w/]{1,64})"/.exec(message)?.[1],
  id: /"id":(\d+)/.exec(message)?.[1],
});

interface CallParams {
  name: string;
  arguments: JsonObject;
}
interface SentContext extends CallContext, Pick<MountConfig, 'timeouts'> {
  proof?: CallProof | null;
  payment?: HttpPayment;
}

/** Calls a tool with or without a proof, and tells what the server asks for: in a result, an error or by HTTP. */
const tryCall = async (
  client: Client,
  params: CallParams,
  context: SentContext,
): Promise<TriedCall<JsonObject>> => {
  const payment: HttpPayment = { proof: context.proof?.header ?? null, receipt: null };
  try {
    const result = await callTool(client, params, { ...context, payment });
    const meta = isJsonObject(result['_meta']) ? result['_meta'] : {};
    return { result, terms: readBill(result), receipt: meta['x402/payment-response'] ?? payment.receipt };
  } catch (error) {
    const asked = { result: unpaidResult, terms: termsIn(error), receipt: null };
    if (asked.terms !== null) return asked;
    if (!context.proof || !(error instanceof UnsentError)) throw error;
    if (error instanceof BusyError) return { ...asked, busy: { retryAfter: error.retryAfter } };
    // A server that has seen a proof can still take it, whatever it answers, so it never gets another one.
    throw new PurchaseError(error.message, { mayBePaid: true, cause: error });
  }
};

const paymentRequired = 402;

const termsIn = (error: unknown): unknown => {
  if (error instanceof PaymentRequiredError) return error.terms;
  return error instanceof McpError && error.code === paymentRequired ? (error.data ?? null) : null;
};

const callTool = (
  client: Client,
  params: CallParams,
  { signal, onProgress, traceparent, timeouts, proof, payment }: SentContext,
): Promise<JsonObject> => {
  const _meta = {
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(proof ? { 'x402/payment': proof.payload } : {}),
  };
  const options: RequestOptions = {
    signal,
    timeout: timeouts.silenceMs,
    maxTotalTimeout: timeouts.totalMs,
    resetTimeoutOnProgress: true,
    // Without it, progress does not put the time-out off.
    onprogress: ({ progress, total, message }) =>
      onProgress?.({ progress, total, message: message?.slice(0, maxMessage) }),
  };
  return ask(client, { method: 'tools/call', params: { ...params, _meta } }, options, payment);
};

/** Asks the server. The HTTP request ends with the question, which the server may have given up or answered long before. */
const ask = async (
  client: Client,
  question: Request,
  options: RequestOptions,
  payment?: HttpPayment,
): Promise<JsonObject> => {
  const over = new AbortController();
  try {
    const answer = httpExtra.run({ signal: over.signal, payment }, () =>
      client.request(question, anything, options),
    );
    return (await answer) as JsonObject;
  } finally {
    setTimeout(() => over.abort(), lastWordsMs).unref();
  }
};

/** Where the SDK itself fails so, the tool may have run. A server may also answer with these codes. */
const ambiguous: ReadonlySet<number> = new Set([ErrorCode.ConnectionClosed, ErrorCode.RequestTimeout]);

const toOutcome = (
  cause: unknown,
  { limits, target }: { limits: ResultLimits; target: MountTarget },
): ToolOutcome => {
  if (cause instanceof UnsentError) return { kind: 'unsent', isSessionLost: cause.isSessionLost, cause };
  if (cause instanceof PurchaseError) {
    if (!cause.mayBePaid) return { kind: 'answered', result: unpaidResult };
    const { cause: refusal } = cause;
    return { kind: 'unknown', isSessionLost: refusal instanceof UnsentError && refusal.isSessionLost, cause };
  }
  if (isUnsent(cause)) return { kind: 'unsent', cause };
  if (!(cause instanceof McpError) || ambiguous.has(cause.code)) return { kind: 'unknown', cause };
  const text = hideSecrets(cause.message, target).slice(0, maxErrorText);
  return { kind: 'answered', result: readResult(failedResult(text), limits) };
};

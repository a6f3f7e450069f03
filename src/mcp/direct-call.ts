import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import {
  LATEST_PROTOCOL_VERSION,
  SERVER_INFO_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  classifyInboundRequest,
  isInitializeRequest,
  isJsonContentType,
  type CallToolRequestParams,
} from '@modelcontextprotocol/server';
import { isJsonObject, parseJson } from '../kit/json.ts';
import { keepFrozen } from '../kit/write-answer.ts';
import type { ServedMethods } from './create-mcp-methods.ts';
import type { McpIdentity } from './tool-list.ts';

/** The members that `params` of a method may have, beside `_meta`. Only these methods are answered directly. */
const membersOf = {
  initialize: ['protocolVersion', 'capabilities', 'clientInfo'],
  'notifications/initialized': [],
  ping: [],
  'server/discover': [],
  'tools/call': ['name', 'arguments'],
  'tools/list': [],
} as const satisfies Record<string, readonly string[]>;

type DirectMethod = keyof typeof membersOf;

/** A call that the library would answer with status 200 and one message, or a notification, which has no message. */
export interface DirectCall {
  method: DirectMethod;
  id: string | number | undefined;
  params: CallToolRequestParams & { protocolVersion?: unknown };
  /** Whether the answer is JSON, as since 2026-07-28, or one event of a stream. */
  isJson: boolean;
}

/**
 * Reads a usual call: a single message of known members, without a progress token, that the library accepts as it is.
 * Returns null for everything else, which is the library's to answer or to refuse.
 */
export const readDirectCall = ({ headers, url }: IncomingMessage, body: Buffer): DirectCall | null => {
  if (!isJsonContentType(headers['content-type']) || !isUsualAddress(headers.host, url)) return null;
  const message = parseJson(body.toString());
  if (!hasOnly(message, messageMembers)) return null;
  const { jsonrpc, id, method, params = {} } = message;
  if (jsonrpc !== '2.0' || !isDirectMethod(method)) return null;
  if (method === notification ? Object.hasOwn(message, 'id') : !isId(id)) return null;
  if (!hasOnly(params, ['_meta', ...membersOf[method]])) return null;
  const { name = '', arguments: input = {}, _meta: meta = {} } = params;
  if (typeof name !== 'string' || !isJsonObject(input) || Object.hasOwn(input, '__proto__')) return null;
  if (!isJsonObject(meta) || !isUsualProgress(meta, method)) return null;
  const isJson = headers['mcp-protocol-version'] === modernRevision;
  if (isJson ? !isUsualModern(headers, message, name) : !isUsualLegacy(headers, message, meta)) return null;
  return { method, id: id as DirectCall['id'], params: { ...params, name }, isJson };
};

const modernRevision = '2026-07-28';
const messageMembers: readonly string[] = ['jsonrpc', 'id', 'method', 'params'];
const notification = 'notifications/initialized';
/** The methods that only one of both protocols has. */
const modernOnly: readonly unknown[] = ['server/discover'];
const legacyOnly: readonly unknown[] = ['initialize', notification, 'ping'];

const isDirectMethod = (method: unknown): method is DirectMethod =>
  typeof method === 'string' && Object.hasOwn(membersOf, method);

const isId = (id: unknown): boolean => typeof id === 'string' || Number.isSafeInteger(id);

type Members = Record<string, unknown>;

const hasOnly = (value: unknown, known: readonly string[]): value is Members =>
  isJsonObject(value) && Object.keys(value).every((name) => known.includes(name));

/** Only a call has progress to tell, and the library tells it. */
const isUsualProgress = (meta: Members, method: DirectMethod): boolean =>
  !Object.hasOwn(meta, 'progressToken') || (method !== 'tools/call' && isId(meta['progressToken']));

/** The library makes a URL of the host, and fails where that is none. */
const isUsualAddress = (host = '', path = ''): boolean =>
  /^[\w.-]+(?::\d+)?$/.test(host) && URL.canParse(`http://${host}${path}`);

const isUsualLegacy = (
  { accept = '', 'mcp-protocol-version': revision }: IncomingHttpHeaders,
  message: Members,
  meta: Members,
): boolean =>
  !modernOnly.includes(message['method']) &&
  (message['method'] !== 'initialize' || isInitializeRequest(message)) &&
  accept.includes('application/json') &&
  accept.includes('text/event-stream') &&
  (revision === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(revision))) &&
  !Object.keys(meta).some((name) => name.startsWith('io.modelcontextprotocol/'));

const isUsualModern = (headers: IncomingHttpHeaders, message: Members, name: string): boolean => {
  const { method } = message;
  if (typeof method !== 'string' || legacyOnly.includes(method) || headers['mcp-method'] !== method)
    return false;
  if (method === 'tools/call' && headers['mcp-name'] !== name) return false;
  const outcome = classifyInboundRequest({
    httpMethod: 'POST',
    protocolVersionHeader: modernRevision,
    mcpMethodHeader: method,
    body: message,
  });
  return outcome.kind === 'modern' && outcome.classification.revision === modernRevision;
};

/** The headers that the library sends. */
const streamHeaders = {
  'cache-control': 'no-cache, no-transform',
  connection: 'keep-alive',
  'content-type': 'text/event-stream',
  'x-accel-buffering': 'no',
};
const jsonHeaders = { 'content-type': 'application/json' };

/** The library sends a comment as often on a stream, so that no proxy takes it for dead. */
const keepAliveMs = 15_000;

/** What is served at an address, as far as usual calls need it. */
type DirectMethods = Omit<ServedMethods, 'createServer' | 'hasTool'>;

/** Answers calls as the library does, byte for byte, without a server, a transport and web streams for each of them. */
export const createAnswerDirectly = (methods: DirectMethods) => {
  const { callTool, serverInfo, describeServer, listHint } = methods;
  const kept = { json: keepFrozen<string | Buffer>(), event: keepFrozen<string | Buffer>() };
  const write = (result: object, method: DirectCall['method']): string =>
    JSON.stringify({
      ...result,
      ...('resultType' in result ? {} : { resultType: 'complete' }),
      ...(method === 'tools/call' ? {} : listHint),
      _meta: {
        ...('_meta' in result ? Object(result._meta) : {}),
        [SERVER_INFO_META_KEY]: method === 'server/discover' ? describeServer() : serverInfo,
      },
    });
  /** Writes an answer up to its id. A frozen result is given out again and again, so its bytes are kept. */
  const startOf = (result: object, { method, isJson }: DirectCall): string | Buffer => {
    const text = (): string =>
      isJson
        ? `{"result":${write(result, method)}`
        : `event: message\ndata: {"result":${JSON.stringify(result)}`;
    const keep = isJson ? kept.json : kept.event;
    return keep(result, () => (Object.isFrozen(result) ? Buffer.from(text()) : text()));
  };

  return async (
    call: DirectCall,
    identity: McpIdentity,
    { response, signal }: { response: ServerResponse; signal: AbortSignal },
  ): Promise<void> => {
    const { method, params, isJson } = call;
    if (method === notification) {
      response.writeHead(202).end();
      return;
    }
    const begin = (): unknown =>
      response.headersSent || response.writeHead(200, isJson ? jsonHeaders : streamHeaders);
    const beat = (): unknown => !signal.aborted && begin() && response.write(': keepalive\n\n');
    const timer = isJson || method !== 'tools/call' ? undefined : setInterval(beat, keepAliveMs).unref();
    try {
      const result =
        method === 'tools/call'
          ? await callTool(identity, params, { mcpReq: { _meta: params._meta, signal } })
          : await answerOf(method, params, identity, methods);
      if (signal.aborted) return;
      const start = startOf(result, call);
      const end = `,"jsonrpc":"2.0","id":${JSON.stringify(call.id)}}${isJson ? '' : '\n\n'}`;
      begin();
      if (typeof start === 'string') response.end(start + end);
      else {
        response.write(start);
        response.end(end);
      }
    } finally {
      clearInterval(timer);
    }
  };
};

const answerOf = (
  method: Exclude<DirectMethod, 'tools/call' | typeof notification>,
  params: DirectCall['params'],
  identity: McpIdentity,
  { listTools, describe, describeServer }: DirectMethods,
): object | Promise<object> => {
  switch (method) {
    case 'ping':
      return {};
    case 'tools/list':
      return listTools(identity, params);
    case 'server/discover':
      return { supportedVersions: [modernRevision], ...describe(identity) };
    case 'initialize': {
      const { capabilities, instructions } = describe(identity);
      return {
        protocolVersion: negotiate(params.protocolVersion),
        capabilities,
        serverInfo: describeServer(),
        instructions,
      };
    }
  }
};

const negotiate = (revision: unknown): string =>
  SUPPORTED_PROTOCOL_VERSIONS.find((known) => known === revision) ?? LATEST_PROTOCOL_VERSION;

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import {
  SERVER_INFO_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  classifyInboundRequest,
  isJsonContentType,
  type CallToolRequestParams,
} from '@modelcontextprotocol/server';
import { isJsonObject } from '../kit/json.ts';
import { keepFrozen } from '../kit/write-answer.ts';
import type { McpMethods } from './create-mcp-methods.ts';
import type { McpIdentity } from './tool-list.ts';

/** A call that the library would answer with status 200 and one message. */
export interface DirectCall {
  method: 'ping' | 'tools/list' | 'tools/call';
  id: string | number;
  params: CallToolRequestParams;
  /** Whether the answer is JSON, as since 2026-07-28, or one event of a stream. */
  isJson: boolean;
}

/**
 * Reads a usual call: a single message of known members, without a progress token, that the library accepts as it is.
 * Returns null for everything else, which is the library's to answer or to refuse.
 */
export const readDirectCall = ({ headers, url }: IncomingMessage, body: Buffer): DirectCall | null => {
  if (!isJsonContentType(headers['content-type']) || !isUsualAddress(headers.host, url)) return null;
  const message = parse(body);
  if (!hasOnly(message, messageMembers)) return null;
  const { jsonrpc, id, method, params = {} } = message;
  if (jsonrpc !== '2.0' || !(typeof id === 'string' || Number.isSafeInteger(id))) return null;
  const isCall = method === 'tools/call';
  if (!isCall && method !== 'tools/list' && method !== 'ping') return null;
  if (!hasOnly(params, isCall ? callMembers : listMembers)) return null;
  const { name = '', arguments: input = {}, _meta: meta = {} } = params;
  if (typeof name !== 'string' || !isJsonObject(input) || Object.hasOwn(input, '__proto__')) return null;
  if (!isJsonObject(meta) || Object.hasOwn(meta, 'progressToken')) return null;
  const isJson = headers['mcp-protocol-version'] === modernRevision;
  if (isJson ? !isUsualModern(headers, message, name) : !isUsualLegacy(headers, meta)) return null;
  return { method, id: id as DirectCall['id'], params: { ...params, name }, isJson };
};

const modernRevision = '2026-07-28';
const messageMembers: readonly string[] = ['jsonrpc', 'id', 'method', 'params'];
const callMembers: readonly string[] = ['name', 'arguments', '_meta'];
const listMembers: readonly string[] = ['_meta'];

type Members = Record<string, unknown>;

const parse = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString());
  } catch {
    return null;
  }
};

const hasOnly = (value: unknown, known: readonly string[]): value is Members =>
  isJsonObject(value) && Object.keys(value).every((name) => known.includes(name));

/** The library makes a URL of the host, and fails where that is none. */
const isUsualAddress = (host = '', path = ''): boolean =>
  /^[\w.-]+(?::\d+)?$/.test(host) && URL.canParse(`http://${host}${path}`);

const isUsualLegacy = (
  { accept = '', 'mcp-protocol-version': revision }: IncomingHttpHeaders,
  meta: Members,
): boolean =>
  accept.includes('application/json') &&
  accept.includes('text/event-stream') &&
  (revision === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(revision))) &&
  !Object.keys(meta).some((name) => name.startsWith('io.modelcontextprotocol/'));

const isUsualModern = (headers: IncomingHttpHeaders, message: Members, name: string): boolean => {
  const { method } = message;
  if (typeof method !== 'string' || method === 'ping' || headers['mcp-method'] !== method) return false;
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

/** Answers calls as the library does, byte for byte, without a server, a transport and web streams for each of them. */
export const createAnswerDirectly = ({ listTools, callTool, serverInfo, listHint }: McpMethods) => {
  const kept = { json: keepFrozen<string | Buffer>(), event: keepFrozen<string | Buffer>() };
  const write = (result: object, method: DirectCall['method']): string =>
    JSON.stringify({
      ...result,
      resultType: 'complete',
      ...(method === 'tools/list' ? listHint : {}),
      _meta: { ...('_meta' in result ? Object(result._meta) : {}), [SERVER_INFO_META_KEY]: serverInfo },
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
    const begin = (): unknown =>
      response.headersSent || response.writeHead(200, isJson ? jsonHeaders : streamHeaders);
    const beat = (): unknown => !signal.aborted && begin() && response.write(': keepalive\n\n');
    const timer = isJson || method !== 'tools/call' ? undefined : setInterval(beat, keepAliveMs).unref();
    try {
      const context = { mcpReq: { _meta: params._meta, signal } };
      const result =
        method === 'ping'
          ? {}
          : await (method === 'tools/list' ? listTools(identity) : callTool(identity, params, context));
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

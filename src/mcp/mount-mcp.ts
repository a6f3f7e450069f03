import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler, originValidation } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  localhostAllowedOrigins,
  type AuthInfo,
  type McpRequestContext,
  type Server,
} from '@modelcontextprotocol/server';
import { AppError } from '../kit/errors.ts';
import { bodyCost, smallBodyBytes, textJobShare } from '../limits/memory-budget.ts';
import { createRequestMemory } from '../limits/request-memory.ts';
import { watchSender, type WatchSenderOptions } from '../limits/watch-sender.ts';
import type { RequestNote } from '../kit/log-request.ts';
import type { Call, Operation, Services } from '../operations/operation.ts';
import { createServerFactory } from './create-server-factory.ts';
import type { ToolGroup } from './tool-list.ts';
import type { McpIdentity } from './mcp-identity.ts';
import { writeError } from '../kit/write-error.ts';

export interface McpRequestFacts extends Pick<Call, 'requestId' | 'clientAddress'> {
  url: URL;
  note: RequestNote;
  /** Null without a key; rejects with AppError `invalid_api_key` on a wrong one. */
  authenticate: () => Promise<Call['caller']>;
}

export interface McpMountOptions {
  services: Services;
  operations: readonly Operation[];
  /** The limits for slow senders of a body. */
  sender?: WatchSenderOptions;
}

const groups = new Map<string, ToolGroup>([
  ['/mcp', 'all'],
  ['/mcp/search', 'search'],
  ['/mcp/generation', 'generation'],
]);

/** The lists never change, so a subscription stream stays silent. Clients may open at most so many. */
const maxSubscriptionStreams = 256;

/** Beside the parsed texts, the library holds the body and a copy of it until the answer is sent. */
const leastBodyShare = textJobShare;

export type McpMount = ReturnType<typeof createMcpMount>;

/**
 * Serves MCP over stateless Streamable HTTP. Each POST has a server of its own, for the 2025 revisions of the protocol
 * and for 2026-07-28. The account of the key is read on every request. The returned function serves a request for one of
 * the MCP addresses; it returns false for any other, and leaves it alone.
 */
export const createMcpMount = ({ services, operations, sender }: McpMountOptions) => {
  const { config, log } = services;
  const onerror = (error: Error): void => log.debug({ err: error }, 'MCP refused a message');
  const createServer = createServerFactory({ services, operations });
  // The library passes an AuthInfo through to the factory unchanged. The key itself is not in it.
  const identities = new WeakMap<AuthInfo, McpIdentity>();
  const serverFor = ({ authInfo }: McpRequestContext): Server => {
    const identity = authInfo === undefined ? undefined : identities.get(authInfo);
    if (identity === undefined) throw new Error('an MCP request came without its identity');
    return createServer(identity);
  };
  const handler = createMcpHandler(serverFor, {
    onerror,
    maxSubscriptions: maxSubscriptionStreams,
    maxRequestBodySize: config.maxBodyBytes,
  });
  const passesOrigin = createOriginGuard(services);

  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    { group, requestId, clientAddress, note, authenticate }: McpRequestFacts & { group: ToolGroup },
  ): Promise<void> => {
    const gone = new AbortController();
    const closed = Promise.withResolvers<void>();
    response.once('close', () => {
      gone.abort(new Error('the client has gone'));
      closed.resolve();
    });
    try {
      if (!passesOrigin(request, response)) return;
      if (request.method !== 'POST') throw onlyPost();
      const caller = await authenticate();
      // Requests without a key stay small, so that strangers use up no memory.
      const maxBytes = caller === null ? Math.min(smallBodyBytes, config.maxBodyBytes) : config.maxBodyBytes;
      const announced = request.headers['content-length'];
      const isRefused = Number(announced ?? 0) > maxBytes;
      const cost = caller === null || isRefused ? 0 : bodyCost(announced, maxBytes);
      const memory = createRequestMemory({
        budget: services.bodyMemory,
        signal: gone.signal,
        accountId: caller?.accountId,
        leastBodyShare,
      });
      memory.holdUntil(closed.promise);
      await memory.takeBody(cost);
      const identity: McpIdentity = {
        group,
        hasKey: caller !== null,
        caller: () => Promise.resolve(caller),
        clientAddress,
        requestId: () => requestId,
        note,
        logsCalls: false,
        memory,
        keyHint:
          'Set the header "Authorization: Bearer <API_KEY>" for this server in the MCP ' +
          `client; the operator of ${services.publicUrl()} issues keys.`,
      };
      const authInfo: AuthInfo = { token: '', clientId: '', scopes: [] };
      identities.set(authInfo, identity);
      watchSender(request, sender);
      await toNodeHandler(
        { fetch: (webRequest, options) => handler.fetch(webRequest, { ...options, authInfo }) },
        { onerror, maxRequestBodySize: maxBytes },
      )(request, response);
    } catch (error) {
      writeError(response, error, { log, requestId, what: 'a request to /mcp' });
    }
  };

  return (request: IncomingMessage, response: ServerResponse, facts: McpRequestFacts): boolean => {
    const group = groups.get(facts.url.pathname);
    if (group === undefined) return false;
    void serve(request, response, { ...facts, group });
    return true;
  };
};

const onlyPost = (): AppError =>
  new AppError(
    'method_not_allowed',
    'This is an MCP server (Streamable HTTP, stateless): send JSON-RPC with POST.',
    { headers: { allow: 'POST' } },
  );

/** Returns whether the request may go on. When false, it has been answered. */
type OriginGuard = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Refuses scripts of foreign web pages (403), as the protocol demands against DNS rebinding: a rebound page still names
 * its own host in `Origin`. Our own pages, pages on this machine (inspectors) and the configured ones may call, and get
 * the CORS headers that a browser needs. Requests without `Origin` come from programs and pass. `Host` is not checked,
 * because a proxy may change it.
 */
const createOriginGuard = ({ publicUrl, config: { allowedOrigins } }: Services): OriginGuard => {
  let isAllowed: OriginGuard | null = null;
  return (request, response) => {
    const { origin } = request.headers;
    if (origin === undefined) return true;
    // The library treats an empty value as none, and reads only the host.
    if (origin === '' || origin.includes('@')) request.headers.origin = 'null';
    isAllowed ??= originValidation([
      ...localhostAllowedOrigins(),
      new URL(publicUrl()).hostname,
      ...allowedOrigins,
    ]);
    if (!isAllowed(request, response)) return false;
    response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-expose-headers', 'x-request-id, retry-after, www-authenticate');
    response.setHeader('vary', 'origin');
    if (request.method !== 'OPTIONS') return true;
    answerPreflight(response);
    return false;
  };
};

const answerPreflight = (response: ServerResponse): void => {
  response.writeHead(204, {
    'access-control-allow-methods': 'POST',
    // The wildcard covers every header but Authorization.
    'access-control-allow-headers': 'authorization, *',
    'access-control-max-age': '7200',
  });
  response.end();
};

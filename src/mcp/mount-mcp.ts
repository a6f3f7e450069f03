import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler, originValidation, type NodeIncomingMessageLike } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  localhostAllowedOrigins,
  type AuthInfo,
  type McpRequestContext,
  type Server,
} from '@modelcontextprotocol/server';
import { bearerKey } from '../accounts/authenticate.ts';
import { connectionResources, mainResource, metadataStart } from '../accounts/connection-resources.ts';
import { AppError, messages } from '../kit/errors.ts';
import { bytesExcess, refuseExcess } from '../kit/json.ts';
import { bodyCost, maxBodyOf, smallBodyBytes, textJobShare } from '../limits/memory-budget.ts';
import { createRequestMemory, watchSender, type WatchSenderOptions } from '../limits/request-memory.ts';
import { type RequestNote, watchClient } from '../kit/log-request.ts';
import { readBody } from '../kit/streams.ts';
import type { Call, Services } from '../operations/call.ts';
import type { Operation } from '../operations/definition.ts';
import { callMountedTool } from '../operations/tools/call-mounted-tool.ts';
import { createMcpMethods, type McpMethods, type ServedMethods } from './create-mcp-methods.ts';
import { addMountedTools, createMountedMethods } from './create-mounted-methods.ts';
import { createAnswerDirectly, readDirectCall } from './direct-call.ts';
import { createTokenGuard, isRestricted } from './token-guard.ts';
import type { McpIdentity, ToolGroup } from './tool-list.ts';
import { writeError } from '../kit/write-answer.ts';

export interface McpRequestFacts extends Pick<Call, 'requestId' | 'clientAddress'> {
  url: URL;
  note: RequestNote;
  authenticate: (authorization: string | undefined, note: RequestNote) => Promise<Call['caller']>;
  authenticateConnection: (
    access: { token: string; resource: string },
    note: RequestNote,
  ) => Promise<Call['caller']>;
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
  [mainResource, 'all'],
  ['/mcp/account/directory', 'directory'],
  ['/mcp/account/read-only', 'read-only'],
]);

/** The lists never change, so a subscription stream stays silent. Clients may open at most so many. */
const maxSubscriptionStreams = 256;

/** Beside the parsed texts, the library holds the body and a copy of it until the answer is sent. */
const leastBodyShare = textJobShare;

export type McpMount = ReturnType<typeof createMcpMount>;

/**
 * Serves MCP over stateless Streamable HTTP, in the 2025 revisions of the protocol and in 2026-07-28. Usual calls are
 * answered directly; each other POST has a server of its own. The account of the key is read on every request. The
 * returned function serves a request for one of the MCP addresses; it returns false for any other, and leaves it alone.
 */
export const createMcpMount = ({ services, operations, sender }: McpMountOptions) => {
  const { config, log } = services;
  const methods = createMcpMethods({ services, operations });
  const addresses = createAddresses(methods, { services, operations });
  const passesOrigin = createOriginGuard(services);
  const tokens = createTokenGuard({
    scopeFor: methods.scopeFor,
    metadataUrl: (resource) => services.publicUrl() + metadataStart + resource,
    hasTools: services.mounts.accountServers.length > 0,
  });
  const readWhole = createReadWhole(sender);

  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    { group, methods: served, answerDirectly, answerByLibrary, ...facts }: McpRequestFacts & Address,
  ): Promise<void> => {
    const { requestId, clientAddress, note } = facts;
    const { signal, closed } = watchClient(response);
    try {
      if (!passesOrigin(request, response)) return;
      if (request.method !== 'POST') throw onlyPost();
      const caller = await readCaller(request, facts);
      const maxBytes = maxBodyOf(caller, config.maxBodyBytes);
      const target = { resource: facts.url.pathname, response };
      if (caller === null && group === 'tools' && !config.wallets.isOn) throw needsKeyHere();
      if (caller === null && connectionResources.has(target.resource))
        return tokens.refuse(request, target, await readWhole(request, maxBytes));
      const announced = request.headers['content-length'];
      const isRefused = Number(announced ?? 0) > maxBytes;
      const cost = caller === null || isRefused ? 0 : bodyCost(announced, maxBytes);
      const memory = createRequestMemory({
        budget: services.bodyMemory,
        signal,
        accountId: caller?.accountId,
        leastBodyShare,
      });
      memory.holdUntil(closed);
      await memory.takeBody(cost);
      const identity: McpIdentity = {
        group,
        hasKey: caller !== null,
        caller: () => Promise.resolve(caller),
        callerOf: (key) => facts.authenticate(`Bearer ${key}`, note),
        clientAddress,
        requestId: () => requestId,
        note,
        logsCalls: false,
        memory,
        keyHint:
          'Set the header "Authorization: Bearer <API_KEY>" for this server in the MCP ' +
          `client; the operator of ${services.publicUrl()} issues keys${config.wallets.isOn ? ', and sign_in gives one to a wallet' : ''}.`,
      };
      const body = await readWhole(request, maxBytes);
      if (body === null) throw new AppError('payload_too_large', 'The message is too large. Send less.');
      if (isRestricted(caller) && !tokens.allow(body, { group, allowed: caller.scopes }, target)) return;
      const call = readDirectCall(request, body);
      if (call !== null && (call.method !== 'tools/call' || served.hasTool(group, call.params.name)))
        return await answerDirectly(call, identity, { response, signal });
      await answerByLibrary(withBody(request, body), response, { identity, maxBytes });
    } catch (error) {
      writeError(response, error, { log, requestId, what: 'a request to /mcp' });
    }
  };

  return (request: IncomingMessage, response: ServerResponse, facts: McpRequestFacts): boolean => {
    const address = addresses.get(facts.url.pathname);
    if (address === undefined) return false;
    void serve(request, response, { ...facts, ...address });
    return true;
  };
};

/** What is served at an address. */
interface Address {
  group: ToolGroup;
  methods: ServedMethods;
  answerDirectly: ReturnType<typeof createAnswerDirectly>;
  answerByLibrary: ReturnType<typeof createAnswerByLibrary>;
}

/** The addresses of the operations, and of the tools of mounted servers: of all of them, of each, and for connections. */
const createAddresses = (
  usual: McpMethods,
  { services, operations }: Pick<McpMountOptions, 'services' | 'operations'>,
): ReadonlyMap<string, Address> => {
  const serveBy = (methods: ServedMethods) => ({
    methods,
    answerDirectly: createAnswerDirectly(methods),
    answerByLibrary: createAnswerByLibrary(methods, services),
  });
  const { asks } = usual;
  const ours = serveBy(usual);
  const { servers: all, accountServers } = services.mounts;
  const operation = operations.find(({ name }) => name === callMountedTool.name) ?? callMountedTool;
  const serveMounted = (path: string, servers: readonly string[]) =>
    [
      path,
      { group: 'tools' as const, ...serveBy(createMountedMethods(services, { servers, operation, asks })) },
    ] as const;
  const addresses = new Map<string, Address>([
    ...[...groups].map(([path, group]) => [path, { group, ...ours }] as const),
    ...(all.length > 0 ? [serveMounted('/mcp/tools', all)] : []),
    ...all.map((server) => serveMounted(`/mcp/tools/${server}`, [server])),
  ]);
  if (accountServers.length > 0)
    addresses.set(mainResource, { group: 'all', ...serveBy(addMountedTools(usual, services, operation)) });
  return addresses;
};

const needsKeyHere = (): AppError =>
  new AppError('invalid_api_key', messages.invalid_api_key, { headers: { 'www-authenticate': 'Bearer' } });

const createReadWhole =
  (sender: WatchSenderOptions | undefined) =>
  async (request: IncomingMessage, maxBytes: number): Promise<Buffer | null> => {
    const small = takeSmallBody(request, maxBytes);
    if (small !== null) return small;
    watchSender(request, sender);
    const body = await readBody(request, maxBytes);
    if (body !== null) refuseExcess(bytesExcess(body));
    return body;
  };

/** The characters of an access token, which may begin as keys do by chance. Every key has more. */
const tokenCharacters = 43;

/** At an address of connections, the bearer may be an access token; elsewhere, and if it looks like a key, it is a key. */
const readCaller = (
  { headers: { authorization } }: IncomingMessage,
  { url, note, authenticate, authenticateConnection }: McpRequestFacts,
): Promise<Call['caller']> => {
  const resource = url.pathname;
  const token = connectionResources.has(resource) ? bearerKey(authorization) : null;
  return token === null || (token.startsWith('sk_') && token.length !== tokenCharacters)
    ? authenticate(authorization, note)
    : authenticateConnection({ token, resource }, note);
};

/** Answers whatever comes, with a server for each request. */
const createAnswerByLibrary = ({ createServer }: ServedMethods, { config, log }: Services) => {
  const onerror = (error: Error): void => log.debug({ err: error }, 'MCP refused a message');
  // The library passes an AuthInfo through to the factory unchanged. The key itself is not in it.
  const identities = new WeakMap<AuthInfo, McpIdentity>();
  const serverFor = ({ authInfo, era, requestInfo }: McpRequestContext): Server => {
    const identity = authInfo === undefined ? undefined : identities.get(authInfo);
    if (identity === undefined) throw new Error('an MCP request came without its identity');
    return createServer(
      identity,
      era === 'legacy' || requestInfo?.headers.get('mcp-method') === 'server/discover',
    );
  };
  const handler = createMcpHandler(serverFor, {
    onerror,
    maxSubscriptions: maxSubscriptionStreams,
    maxRequestBodySize: config.maxBodyBytes,
  });
  return (
    request: NodeIncomingMessageLike,
    response: ServerResponse,
    { identity, maxBytes }: { identity: McpIdentity; maxBytes: number },
  ): Promise<void> => {
    const authInfo: AuthInfo = { token: '', clientId: '', scopes: [] };
    identities.set(authInfo, identity);
    return toNodeHandler(
      { fetch: (webRequest, options) => handler.fetch(webRequest, { ...options, authInfo }) },
      { onerror, maxRequestBodySize: maxBytes },
    )(request, response);
  };
};

/** Takes a small body that has arrived; null: it is larger, of unknown length, or still on its way. */
const takeSmallBody = (request: IncomingMessage, maxBytes: number): Buffer | null => {
  const length = Number(request.headers['content-length']);
  if (!(length <= Math.min(smallBodyBytes, maxBytes)) || request.readableLength !== length) return null;
  const body: unknown = request.read();
  // Reads to the end, which the next request on the connection waits for.
  request.resume();
  return body instanceof Buffer ? body : Buffer.alloc(0);
};

/** Gives the library a request whose body has been taken. */
const withBody = ({ method = 'POST', url = '/', headers }: IncomingMessage, body: Buffer) => ({
  method,
  url,
  headers,
  async *[Symbol.asyncIterator]() {
    yield body;
  },
});

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

import packageJson from '../../package.json' with { type: 'json' };
import { Server } from '@modelcontextprotocol/server';
import { brandTitle } from '../kit/brand-title.ts';
import { createOffered } from '../operations/is-on-sale.ts';
import { withoutKeys } from '../kit/log-request.ts';
import type { Operation, Services } from '../operations/operation.ts';
import { createCallTool } from './call-tool.ts';
import { createResources } from './resources.ts';
import { createToolList, isTool, needsKey, type ToolGroup } from './tool-list.ts';
import type { McpIdentity } from './mcp-identity.ts';

/** The longest part of a tool's name, which strangers may invent, in the log. */
const maxShownName = 64;

/** How long a client may keep a tool list (protocol 2026-07-28). It changes with the version, the key and what is on sale. */
const listLifeMs = 300_000;

/**
 * Makes protocol servers over the operations, one for each HTTP request or stdio connection. Everything that is worth
 * keeping is made here, once. The low-level server is used because the high-level one converts every schema again for
 * each instance.
 */
export const createServerFactory = ({
  services,
  operations,
}: {
  services: Services;
  operations: readonly Operation[];
}): ((identity: McpIdentity) => Server) => {
  const { brand } = services.config;
  const soldKinds = new Set(services.config.models.map(({ kind }) => kind));
  const toolOperations = operations
    .filter(isTool)
    .filter(({ sells }) => sells === undefined || soldKinds.has(sells));
  const offered = createOffered(toolOperations, services, (onSale) => ({
    operations: onSale,
    tools: createToolList({ operations: onSale.filter(isTool) }),
  }));
  const callTool = createCallTool({ tools: createToolList({ operations: toolOperations }), services });
  const resources = createResources(operations, services);
  /** The groups with tools for accounts. Accounts have resources, too. */
  const accountGroups = new Set<ToolGroup>([
    'all',
    ...toolOperations.filter(needsKey).map(({ group }) => group),
  ]);
  const serverInfo = { name: brand, title: brandTitle(services.config), version: packageJson.version };
  /** Logs the name of the call. */
  const logged = async <T>(
    identity: McpIdentity,
    call: string,
    answer: (identity: McpIdentity) => T | Promise<T>,
  ): Promise<T> => {
    if (!identity.logsCalls) {
      identity.note.call = call;
      return answer(identity);
    }
    const requestId = identity.requestId();
    const startedAt = performance.now();
    try {
      return await answer({ ...identity, requestId: () => requestId });
    } finally {
      const ms = Math.round(performance.now() - startedAt);
      services.log.info({ requestId, ms, ...identity.note, call }, 'request');
    }
  };
  const cacheHint = { ttlMs: listLifeMs, cacheScope: 'private' as const };

  return (identity) => {
    const { group, hasKey } = identity;
    const hasResources = accountGroups.has(group);
    const server = new Server(serverInfo, {
      capabilities: { tools: {}, ...(hasResources ? { resources: {} } : {}) },
      instructions: toInstructions(offered().operations, group, hasKey),
      cacheHints: { 'tools/list': cacheHint, 'server/discover': cacheHint },
    });
    if (hasResources) {
      server.setRequestHandler('resources/list', (_request, { mcpReq }) =>
        logged(identity, 'resources/list', (known) => resources.list(known, mcpReq.signal)),
      );
      server.setRequestHandler('resources/templates/list', () =>
        logged(identity, 'resources/templates/list', resources.templates),
      );
      server.setRequestHandler('resources/read', ({ params }, { mcpReq }) =>
        logged(identity, 'resources/read', (known) => resources.read(params.uri, known, mcpReq.signal)),
      );
    }
    server.setRequestHandler('tools/list', () =>
      logged(identity, 'tools/list', () => offered().tools.list(group, hasKey)),
    );
    server.setRequestHandler('tools/call', ({ params }, context) =>
      logged(identity, `tools/call ${withoutKeys(params.name).slice(0, maxShownName)}`, (known) =>
        callTool(params, context, known),
      ),
    );
    return server;
  };
};

/** Tells a model about this server before it calls anything. `operations`: those that are tools. */
const toInstructions = (operations: readonly Operation[], group: ToolGroup, hasKey: boolean): string => {
  const served = operations.filter((operation) => group === 'all' || operation.group === group);
  const keyless = served.filter((operation) => !needsKey(operation)).map(({ name }) => name);
  const keyed = served.filter(needsKey).map(({ name }) => name);
  return [
    keyless.length === 0 ? null : payPerCall(keyless),
    keyed.length === 0 ? null : hasKey ? prepaid(served) : keyOpens(keyed),
  ]
    .filter((line) => line !== null)
    .join('\n');
};

const payPerCall = (names: readonly string[]): string =>
  `${names.join(', ')}: paid for each call with USDC by x402, without an account. An unpaid call answers the terms; ` +
  'call again with the same arguments and the signed payment in _meta["x402/payment"].';

const prepaid = (operations: readonly Operation[]): string =>
  [
    'Generation is charged to the prepaid balance of the API key, when it succeeds.',
    ...operations.flatMap(({ tool }) => tool?.instruction ?? []),
    'Give the URL of a result to the person as it is. Send an idempotency_key to repeat a call safely.',
  ].join(' ');

const keyOpens = (names: readonly string[]): string =>
  `With an API key ("Authorization: Bearer <API_KEY>" on this server) there are also the generation tools: ` +
  `${names.join(', ')}. The operator of this service issues keys.`;

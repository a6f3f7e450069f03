import packageJson from '../../package.json' with { type: 'json' };
import { Server, type CallToolRequestParams, type ListToolsResult } from '@modelcontextprotocol/server';
import { brandTitle } from '../kit/text.ts';
import { createOffered, rulesOf } from '../operations/sale-rules.ts';
import { withoutKeys } from '../kit/log-request.ts';
import type { Services } from '../operations/call.ts';
import type { Operation, ToolOperation } from '../operations/definition.ts';
import { createBuyerLists } from './buyer-lists.ts';
import { createCallTool, createScopeFor, type ToolCallContext } from './call-tool.ts';
import { createLogged } from './log-calls.ts';
import { createPrompts } from './prompts.ts';
import { createResources } from './resources.ts';
import { createTasks } from './tasks.ts';
import { createToolList, isIn, isTool, needsKey, type ToolGroup, type McpIdentity } from './tool-list.ts';

/** The longest part of a tool's name, which strangers may invent, in the log. */
const maxShownName = 64;

/** A tool list changes with the version, the key and what is on sale. */
const listLifeMs = 300_000;

export type McpMethods = ReturnType<typeof createMcpMethods>;

/** Makes the protocol's methods over the operations, and everything that is worth keeping, once. */
export const createMcpMethods = ({
  services,
  operations,
}: {
  services: Services;
  operations: readonly Operation[];
}) => {
  const { brand } = services.config;
  const soldKinds = new Set(services.config.models.map(({ kind }) => kind));
  const toolOperations = operations
    .filter(isTool)
    .filter(({ sells }) => sells === undefined || soldKinds.has(sells));
  /** Resources that need no key. */
  const open = operations.filter(({ sale, resource }) => rulesOf(sale).isOpen && resource !== undefined);
  const offered = createOffered(toolOperations, services, (onSale) => ({
    operations: onSale,
    tools: createToolList({ operations: onSale.filter(isTool) }),
    instructionsFor: createInstructions([...onSale, ...open], services),
  }));
  const tools = createToolList({ operations: toolOperations });
  const callOperation = createCallTool({ operations: toolOperations, tools, services });
  const resources = createResources(operations, services);
  /** The groups with tools for accounts. Accounts have resources, too. */
  const accountGroups = new Set<ToolGroup>([
    'all',
    'directory',
    'read-only',
    ...toolOperations.filter(needsKey).map(({ group }) => group),
  ]);
  const resourceGroups = new Set<ToolGroup>([...accountGroups, ...open.map(({ group }) => group)]);
  const serverInfo = { name: brand, title: brandTitle(services.config), version: packageJson.version };
  const logged = createLogged(services.log);
  const tasks = createTasks({ operations, services, logged });
  const listHint = { ttlMs: listLifeMs, cacheScope: 'private' as const };
  const listFor = createBuyerLists(services);
  /** Returns what a client learns of the server of its group before it calls anything. */
  const describe = (identity: McpIdentity) => ({
    capabilities: {
      tools: {},
      prompts: {},
      completions: {},
      ...(resourceGroups.has(identity.group) ? { resources: {} } : {}),
      ...tasks.capabilities(identity.group),
    },
    instructions: offered().instructionsFor(identity),
  });
  const listTools = (identity: McpIdentity): Promise<ListToolsResult> =>
    logged(identity, 'tools/list', (known) => {
      const now = offered();
      return known.hasKey || services.config.wallets.isOn
        ? listFor(now.operations, known)
        : now.tools.list(known.group, false);
    });
  /** Rejects with ProtocolError when the group has no such tool. */
  const callTool = (identity: McpIdentity, params: CallToolRequestParams, context: ToolCallContext) =>
    logged(identity, `tools/call ${withoutKeys(params.name).slice(0, maxShownName)}`, (known) =>
      callOperation(params, context, known),
    );

  const prompts = createPrompts(services, () => offered().operations);
  const methods = { describe, listTools, callTool, prompts, resources, tasks, logged, serverInfo, listHint };
  return {
    ...methods,
    hasTool: (group: ToolGroup, name: string) => tools.find(group, name) !== null,
    scopeFor: createScopeFor(tools, resources),
    createServer: (identity: McpIdentity): Server => createProtocolServer(identity, methods),
  };
};

/**
 * Makes a protocol server for one HTTP request or one stdio connection. The low-level server is used because the
 * high-level one converts every schema again for each instance.
 */
const createProtocolServer = (
  identity: McpIdentity,
  {
    describe,
    listTools,
    callTool,
    prompts,
    resources,
    tasks,
    logged,
    serverInfo,
    listHint,
  }: Omit<McpMethods, 'createServer' | 'hasTool' | 'scopeFor'>,
): Server => {
  const described = describe(identity);
  const server = new Server(serverInfo, {
    ...described,
    cacheHints: { 'tools/list': listHint, 'prompts/list': listHint, 'server/discover': listHint },
  });
  if (described.capabilities.resources !== undefined) {
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
  server.setRequestHandler('prompts/list', () => logged(identity, 'prompts/list', prompts.list));
  server.setRequestHandler('prompts/get', ({ params }) =>
    logged(identity, 'prompts/get', (known) => prompts.get(params, known)),
  );
  server.setRequestHandler('completion/complete', ({ params }) =>
    logged(identity, 'completion/complete', (known) => prompts.complete(params, known)),
  );
  tasks.serve(server, identity);
  server.setRequestHandler('tools/list', () => listTools(identity));
  server.setRequestHandler('tools/call', ({ params }, context) => callTool(identity, params, context));
  return server;
};

/** Returns a function that makes the instructions of each group once, with and without a key. */
const createInstructions = (operations: readonly Operation[], services: Services) => {
  const made = new Map<string, string>();
  return (identity: McpIdentity): string => {
    const key = `${identity.group} ${identity.hasKey}`;
    const text = made.get(key) ?? toInstructions(operations, identity, services);
    made.set(key, text);
    return text;
  };
};

/** Tells a model about this server before it calls anything. `operations`: the tools, and those with open resources. */
const toInstructions = (
  operations: readonly Operation[],
  { group, hasKey }: McpIdentity,
  { config: { brand, wallets }, publicUrl }: Services,
): string => {
  const served = operations.filter((operation) => isIn(group, operation));
  const tools = served.filter(isTool);
  // With a key, what can be prepaid is prepaid.
  const paid = tools.filter((operation) =>
    hasKey ? isPaidAlone(operation) : rulesOf(operation.sale).isPaid,
  );
  const keyed = tools.filter(needsKey).map(({ name }) => name);
  return [
    paid.length === 0 ? null : payPerCall(paid.map(({ name }) => name)),
    paid.length === 0 || hasKey || !wallets.isOn ? null : payFromWallet(publicUrl()),
    ...served.flatMap(({ sale, resource }) =>
      rulesOf(sale).isOpen && resource !== undefined
        ? [`Resource ${brand}://${resource.path}, free: ${resource.title}.`]
        : [],
    ),
    hasKey ? prepaid(tools) : keyed.length === 0 ? null : keyOpens(keyed, publicUrl()),
  ]
    .filter((line) => line !== null)
    .join('\n');
};

const payPerCall = (names: readonly string[]): string =>
  `${names.join(', ')}: paid for each call with USDC by x402, without an account. An unpaid call answers the terms; ` +
  'call again with the same arguments and the signed payment in _meta["x402/payment"].';

const payFromWallet = (url: string): string =>
  `What a call does not use of its payment is balance of the account of the wallet. The tools list their main arguments; ` +
  `all are in ${url}/openapi.json, and prices in ${url}/llms.txt.`;

const isPaidAlone = ({ sale }: Operation): boolean => rulesOf(sale).isPaid && !rulesOf(sale).isPrepaid;

/** Null: of these tools, a key opens none. */
const prepaid = (tools: readonly ToolOperation[]): string | null => {
  const sells = tools.some(({ sale }) => rulesOf(sale).isPrepaid);
  if (!sells && !tools.some(needsKey)) return null;
  return [
    ...(sells ? ['Calls that succeed are charged to the prepaid balance of the API key.'] : []),
    ...tools.flatMap(({ tool }) => tool.instruction ?? []),
    'Give the URL of a result to the person as it is.',
    ...(sells ? ['Send an idempotency_key to repeat a call safely.'] : []),
  ].join(' ');
};

const keyOpens = (names: readonly string[], url: string): string =>
  `With an API key ("Authorization: Bearer <API_KEY>" on this server) there are also the generation tools: ` +
  `${names.join(', ')}. The operator of this service issues keys. Or a person connects the assistant to an account, at ` +
  `${url}/mcp/account.`;

import packageJson from '../../package.json' with { type: 'json' };
import {
  Server,
  type CallToolRequestParams,
  type Implementation,
  type ListToolsResult,
  type ServerCapabilities,
} from '@modelcontextprotocol/server';
import { keyMember } from '../accounts/authenticate.ts';
import { iconPath } from '../kit/icon.ts';
import { brandTitle } from '../kit/text.ts';
import { createOffered, isReadByProof, rulesOf } from '../operations/sale-rules.ts';
import { withoutKeys } from '../kit/log-request.ts';
import type { Services } from '../operations/call.ts';
import type { Operation, ToolOperation } from '../operations/definition.ts';
import { createAskByUrl } from './ask-by-url.ts';
import { createBuyerLists } from './buyer-lists.ts';
import { createCallTool, createScopeFor, type ToolCallContext } from './call-tool.ts';
import { createLogged, type Message } from './log-calls.ts';
import { createPrompts } from './prompts.ts';
import { createResources } from './resources.ts';
import { createTasks } from './tasks.ts';
import { createToolAnswers } from './tool-result.ts';
import { createToolList, isIn, isTool, needsKey, type ToolGroup, type McpIdentity } from './tool-list.ts';

/** The longest part of a tool's name, which strangers may invent, in the log. */
const maxShownName = 64;

/** A tool list changes with the version, the key and what is on sale. */
const listLifeMs = 300_000;

export type McpMethods = ReturnType<typeof createMcpMethods>;

/** What is served at an MCP address. */
export type ServedMethods = Pick<
  McpMethods,
  'callTool' | 'createServer' | 'describeServer' | 'hasTool' | 'listHint' | 'listTools' | 'serverInfo'
> & {
  describe(identity: McpIdentity): Pick<ReturnType<McpMethods['describe']>, 'instructions'> & {
    capabilities: ServerCapabilities;
  };
};

/** Makes the protocol's methods over the operations, and everything that is worth keeping, once. */
export const createMcpMethods = ({
  services,
  operations,
}: {
  services: Services;
  operations: readonly Operation[];
}) => {
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
  const answers = createToolAnswers(toolOperations, services);
  const asks = createAskByUrl(services);
  const callOperation = createCallTool({ tools, answers, services, askByUrl: asks.askByUrl });
  const resources = createResources(operations, services);
  /** The groups with tools for accounts. Accounts have resources, too. */
  const accountGroups = new Set<ToolGroup>([
    'all',
    'directory',
    'read-only',
    ...toolOperations.filter(needsKey).map(({ group }) => group),
  ]);
  const resourceGroups = new Set<ToolGroup>([...accountGroups, ...open.map(({ group }) => group)]);
  const names = nameServer(services);
  const logged = createLogged(services);
  const tasks = createTasks({ operations, answers, services, logged });
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
  const listTools = (identity: McpIdentity, message: Message): Promise<ListToolsResult> =>
    logged(identity, 'tools/list', message, (known) => {
      const now = offered();
      return known.hasKey || services.config.wallets.isOn
        ? listFor(now.operations, known)
        : now.tools.list(known.group);
    });
  /** Rejects with ProtocolError when the group has no such tool. */
  const callTool = (identity: McpIdentity, params: CallToolRequestParams, context: ToolCallContext) =>
    logged(
      identity,
      `tools/call ${withoutKeys(params.name).slice(0, maxShownName)}`,
      context.mcpReq,
      (known) => callOperation(params, context, known),
    );

  const prompts = createPrompts(services, () => offered().operations);
  const methods = { describe, listTools, callTool, prompts, resources, tasks, logged, ...names, listHint };
  return {
    ...methods,
    asks,
    hasTool: (group: ToolGroup, name: string) => tools.find(group, name) !== null,
    scopeFor: createScopeFor(tools, resources, services.mounts),
    /** `greets`: for messages of which only those before a client's first call name the server. */
    createServer: (identity: McpIdentity, greets: boolean, others: Partial<typeof methods> = {}): Server =>
      createProtocolServer(
        identity,
        { ...methods, ...others, ...asks },
        greets ? names.describeServer() : names.serverInfo,
      ),
  };
};

export const nameServer = ({ config, publicUrl }: Pick<Services, 'config' | 'publicUrl'>) => {
  const serverInfo = { name: config.brand, title: brandTitle(config), version: packageJson.version };
  return {
    serverInfo,
    /** The server with its icon, for what a client learns before it calls anything. Other answers name it without. */
    describeServer: () => ({
      ...serverInfo,
      icons: [{ src: publicUrl() + iconPath, mimeType: 'image/svg+xml', sizes: ['any'] }],
    }),
  };
};

/**
 * Makes a protocol server for one HTTP request or one stdio connection. The low-level server is used because the
 * high-level one converts every schema again for each instance.
 */
const createProtocolServer = (
  identity: McpIdentity,
  methods: Omit<McpMethods, 'asks' | 'createServer' | 'hasTool' | 'scopeFor'> &
    Pick<McpMethods['asks'], 'verifyState'>,
  serverInfo: Implementation,
): Server => {
  const { listTools, callTool, prompts, resources, tasks, logged, listHint, verifyState } = methods;
  const described = methods.describe(identity);
  const server = new Server(serverInfo, {
    ...described,
    requestState: { verify: verifyState },
    cacheHints: { 'tools/list': listHint, 'prompts/list': listHint, 'server/discover': listHint },
  });
  if (described.capabilities.resources !== undefined) {
    server.setRequestHandler('resources/list', (_request, { mcpReq }) =>
      logged(identity, 'resources/list', mcpReq, (known) => resources.list(known, mcpReq)),
    );
    server.setRequestHandler('resources/templates/list', (_request, { mcpReq }) =>
      logged(identity, 'resources/templates/list', mcpReq, resources.templates),
    );
    server.setRequestHandler('resources/read', ({ params }, { mcpReq }) =>
      logged(identity, 'resources/read', mcpReq, (known) => resources.read(params.uri, known, mcpReq)),
    );
  }
  server.setRequestHandler('prompts/list', (_request, { mcpReq }) =>
    logged(identity, 'prompts/list', mcpReq, prompts.list),
  );
  server.setRequestHandler('prompts/get', ({ params }, { mcpReq }) =>
    logged(identity, 'prompts/get', mcpReq, (known) => prompts.get(params, known)),
  );
  server.setRequestHandler('completion/complete', ({ params }, { mcpReq }) =>
    logged(identity, 'completion/complete', mcpReq, (known) => prompts.complete(params, known)),
  );
  tasks.serve(server, identity);
  server.setRequestHandler('tools/list', (_request, { mcpReq }) => listTools(identity, mcpReq));
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
  services: Services,
): string => {
  const { brand, wallets } = services.config;
  const served = operations.filter((operation) => isIn(group, operation));
  const tools = served.filter(isTool);
  // With a key, what can be prepaid is prepaid.
  const paid = tools.filter((operation) => (hasKey ? isPaidAlone(operation) : isPaidEach(operation)));
  const keyed = tools.filter(needsKey).map(({ name }) => name);
  return [
    paid.length === 0 ? null : payPerCall(paid.map(({ name }) => name)),
    paid.length === 0 || hasKey || !wallets.isOn ? null : payFromWallet(tools, services),
    ...served.flatMap(({ sale, resource }) =>
      rulesOf(sale).isOpen && resource !== undefined
        ? [`Resource ${brand}://${resource.path}, free: ${resource.title}.`]
        : [],
    ),
    hasKey ? prepaid(tools) : keyed.length === 0 ? null : keyOpens(keyed, services.publicUrl()),
  ]
    .filter((line) => line !== null)
    .join('\n');
};

const payPerCall = (names: readonly string[]): string =>
  `${names.join(', ')}: paid for each call with USDC by x402, without an account. An unpaid call answers the terms; ` +
  'call again with the same arguments and the signed payment in _meta["x402/payment"].';

/** Tells a wallet without a key what it has of a payment. */
const payFromWallet = (tools: readonly ToolOperation[], services: Services): string => {
  const url = services.publicUrl();
  const readers = tools.filter(({ sale }) => isReadByProof(sale, services)).map(({ name }) => name);
  const reading =
    `With the proof of that payment in _meta["x402/payment"], ${readers.join(', ')} read what it bought; for the balance ` +
    `and lists, call sign_in, whose key the client sends in _meta["${keyMember(services.config)}"]. `;
  return (
    (tools.some(({ sale }) => rulesOf(sale).isCredit)
      ? 'What a call does not use of its payment is balance of the account of the wallet. '
      : '') +
    (readers.length === 0 ? '' : reading) +
    `The tools list their main arguments; all are in ${url}/openapi.json, and prices in ${url}/llms.txt.`
  );
};

const isPaidEach = ({ sale }: Operation): boolean => rulesOf(sale).isPaid && !rulesOf(sale).isSignIn;

const isPaidAlone = (operation: Operation): boolean =>
  isPaidEach(operation) && !rulesOf(operation.sale).isPrepaid;

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

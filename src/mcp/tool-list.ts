import type { ListToolsResult, Tool } from '@modelcontextprotocol/server';
import { firstSentence } from '../kit/text.ts';
import type { RequestNote } from '../kit/log-request.ts';
import type { RequestMemory } from '../limits/request-memory.ts';
import type { Call, Services } from '../operations/call.ts';
import type { Operation, ToolOperation } from '../operations/definition.ts';
import { rulesOf } from '../operations/sale-rules.ts';
import { toInputSchema, toMainInputSchema, toOutputSchema, type JsonSchema } from './tool-schemas.ts';
import { viewUri } from './views.ts';

export type ToolGroup = 'all' | Operation['group'];

/** The client of one HTTP request or one stdio connection, as the transport knows it. */
export interface McpIdentity {
  group: ToolGroup;
  /** Whether a key was sent, which decides what is listed. */
  hasKey: boolean;
  /** Reads the account of the key; null without a key. Rejects with AppError when the key has ended meanwhile. */
  caller(): Promise<Call['caller']>;
  /** The address that rate limits count. */
  clientAddress: string;
  /** Makes the id of one call for the log. */
  requestId(): string;
  /** Fields for the log; the call adds its name. */
  note: RequestNote;
  /** Whether each call is logged on its own line, as over stdio, where there is no HTTP request. */
  logsCalls: boolean;
  /** The memory that the request holds. */
  memory: RequestMemory;
  /** Tells the client how to get and send a key. */
  keyHint: string;
}

export interface ToolList {
  /** Returns the operation behind a tool of the group, even if the caller may not use it. Null when there is none. */
  find(group: ToolGroup, name: string): ToolOperation | null;
  /** Returns the answer to `tools/list`, in the order of the operations. Without a key, it has the tools that need none. */
  list(group: ToolGroup, hasKey: boolean): ListToolsResult;
}

/** Makes every list once, since no list depends on a request. */
export const createToolList = ({ operations }: { operations: readonly ToolOperation[] }): ToolList => {
  const tools = operations.map((operation) => ({ operation, tool: toTool(operation) }));
  const byName = new Map(operations.map((operation) => [operation.name, operation]));

  const listFor = (group: ToolGroup, hasKey: boolean): ListToolsResult =>
    Object.freeze({
      tools: tools
        .filter(({ operation }) => isIn(group, operation) && (hasKey || !needsKey(operation)))
        .map(({ tool }) => tool),
    });
  const listsFor = (group: ToolGroup) => ({
    withKey: listFor(group, true),
    withoutKey: listFor(group, false),
  });
  const lists = { all: listsFor('all'), search: listsFor('search'), generation: listsFor('generation') };

  return {
    find: (group, name) => {
      const operation = byName.get(name);
      return operation !== undefined && isIn(group, operation) ? operation : null;
    },
    list: (group, hasKey) => (hasKey ? lists[group].withKey : lists[group].withoutKey),
  };
};

export const isTool = (operation: Operation): operation is ToolOperation => operation.tool !== null;

/** Returns whether an operation needs an API key. The others are free, or can be paid for by x402. */
export const needsKey = ({ sale }: Operation): boolean => rulesOf(sale).key === 'needed';

/** Returns whether the server of a group has the operation. */
export const isIn = (group: ToolGroup, operation: Operation): boolean =>
  group === 'all' || operation.group === group;

const toTool = (operation: ToolOperation): Tool => ({
  name: operation.name,
  title: operation.title,
  description: operation.description,
  inputSchema: toInputSchema(operation),
  outputSchema: toOutputSchema(operation),
  annotations: {
    readOnlyHint: operation.tool.readOnly,
    destructiveHint: false,
    idempotentHint: operation.tool.idempotent,
    openWorldHint: operation.tool.openWorld,
  },
  ...(operation.tool.view === undefined
    ? {}
    : { _meta: { ui: { resourceUri: viewUri(operation.tool.view) } } }),
});

/** SKUs that a tool names. Those of more are on the home page. */
const maxSkus = 8;

/**
 * Lists the tools for a wallet, which has no key: those that it can pay for, and those of its account that it will need.
 * A model reads the list in every conversation, so it is short: no schemas of answers, and of a tool with main arguments
 * these alone.
 */
export const createWalletTools = (
  operations: readonly ToolOperation[],
  models: Services['config']['models'],
): ListToolsResult =>
  Object.freeze({
    tools: operations
      .filter((operation) => !needsKey(operation) || operation.tool.main !== undefined)
      .map((operation) => {
        const { outputSchema: _answer, ...tool } = toTool(operation);
        const main = toMainInputSchema(operation);
        if (main === null) return tool;
        const skus = models.filter(({ kind }) => kind === operation.sells).map(({ sku }) => sku);
        return {
          ...tool,
          description: firstSentence(operation.description),
          inputSchema: { ...main, properties: { ...main.properties, ...named(skus) } },
        };
      }),
  });

/** The argument `model`, with the SKUs to choose from. */
const named = (skus: readonly string[]): Record<string, JsonSchema> =>
  skus.length === 0
    ? {}
    : { model: skus.length > maxSkus ? { type: 'string' } : { type: 'string', enum: [...skus] } };

import type { ListToolsResult, Tool } from '@modelcontextprotocol/server';
import type { RequestNote } from '../kit/log-request.ts';
import type { RequestMemory } from '../limits/request-memory.ts';
import type { Call } from '../operations/call.ts';
import type { Operation, ToolOperation } from '../operations/definition.ts';
import { rulesOf } from '../operations/sale-rules.ts';
import { toInputSchema, toOutputSchema } from './tool-schemas.ts';
import { viewUri } from './views.ts';

/** The operations of an address. `directory` is for directories of assistants, which refuse payments and made media. */
export type ToolGroup = 'all' | 'directory' | 'read-only' | Operation['group'];

/** The client of one HTTP request or one stdio connection, as the transport knows it. */
export interface McpIdentity {
  group: ToolGroup;
  /** Whether a key was sent, which decides what is listed. */
  hasKey: boolean;
  /** Reads the account of the key; null without a key. Rejects with AppError when the key has ended meanwhile. */
  caller(): Promise<Call['caller']>;
  /** Finds the account of a key that came in the `_meta` of a message. Rejects with AppError when it is not valid. */
  callerOf(key: string): Promise<Call['caller']>;
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
  /** Returns the answer to `tools/list` without a key, in the order of the operations: the tools that need none. */
  list(group: ToolGroup): ListToolsResult;
}

/** Makes each list once, since no list depends on a request. */
export const createToolList = ({ operations }: { operations: readonly ToolOperation[] }): ToolList => {
  const byName = new Map(operations.map((operation) => [operation.name, operation]));
  const listFor = (group: ToolGroup): ListToolsResult =>
    Object.freeze({
      tools: operations
        .filter((operation) => isIn(group, operation) && !needsKey(operation))
        .map((operation) => toTool(operation, group)),
    });
  const lists = new Map<ToolGroup, ListToolsResult>();
  return {
    find: (group, name) => {
      const operation = byName.get(name);
      return operation !== undefined && isIn(group, operation) ? operation : null;
    },
    list: (group) => {
      const list = lists.get(group) ?? listFor(group);
      lists.set(group, list);
      return list;
    },
  };
};

export const isTool = (operation: Operation): operation is ToolOperation => operation.tool !== null;

/** Returns whether an operation needs an API key. The others are free, or can be paid for by x402. */
export const needsKey = ({ sale }: Operation): boolean => rulesOf(sale).key === 'needed';

/** Returns whether the server of a group has the operation. */
export const isIn = (group: ToolGroup, operation: Operation): boolean => {
  switch (group) {
    case 'all':
      return true;
    case 'directory':
      return operation.tool?.inDirectory !== undefined || isIn('read-only', operation);
    case 'read-only':
      return operation.tool?.readOnly ?? operation.rest.method === 'GET';
    case 'search':
    case 'generation':
    case 'tools':
      return operation.group === group;
  }
};

/** Describes a tool to a client of a group, whatever SKUs there are. */
export const toTool = (operation: ToolOperation, group: ToolGroup): Tool => ({
  name: operation.name,
  title: operation.title,
  description: (group === 'directory' ? operation.tool.inDirectory : undefined) ?? operation.description,
  inputSchema: toInputSchema(operation),
  outputSchema: toOutputSchema(operation),
  annotations: {
    readOnlyHint: operation.tool.readOnly,
    destructiveHint: false,
    idempotentHint: operation.tool.idempotent,
    openWorldHint: operation.tool.openWorld,
  },
  ...(operation.tool.view && { _meta: { ui: { resourceUri: viewUri(operation.tool.view) } } }),
});

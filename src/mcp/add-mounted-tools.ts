import type { ListToolsResult } from '@modelcontextprotocol/server';
import type { Services } from '../operations/call.ts';
import type { McpMethods, ServedMethods } from './create-mcp-methods.ts';
import { createMountedMethods, type MountedOptions } from './create-mounted-methods.ts';
import { isMountedName } from './tool-catalogue.ts';
import type { McpIdentity } from './tool-list.ts';

/** Adds the tools of the mounted servers that are offered to connections to our own. */
export const addMountedTools = (
  ours: McpMethods,
  services: Services,
  operation: MountedOptions['operation'],
): ServedMethods => {
  const { askByUrl } = ours;
  const mounted = createMountedMethods(services, {
    servers: services.mounts.accountServers,
    operation,
    askByUrl,
  });
  const made = new WeakMap<ListToolsResult, { others: ListToolsResult; list: ListToolsResult }>();
  const join = (own: ListToolsResult, others: ListToolsResult): ListToolsResult => {
    const known = made.get(own);
    if (known?.others === others) return known.list;
    const list = Object.freeze({ tools: [...own.tools, ...others.tools] });
    made.set(own, { others, list });
    return list;
  };
  const describe = (identity: McpIdentity) => {
    const { instructions, ...described } = ours.describe(identity);
    return { ...described, instructions: `${instructions}\n${mounted.describe(identity).instructions}` };
  };
  const listTools: McpMethods['listTools'] = async (...asked) =>
    join(await ours.listTools(...asked), await mounted.listTools(...asked));
  const callTool: McpMethods['callTool'] = (identity, params, context) =>
    (isMountedName(params.name) ? mounted : ours).callTool(identity, params, context);
  const { listHint } = mounted;
  const methods = { ...ours, describe, listTools, callTool, listHint };
  return {
    ...methods,
    hasTool: (group, name) => isMountedName(name) || ours.hasTool(group, name),
    createServer: (identity, greets) => ours.createServer(identity, greets, methods),
  };
};

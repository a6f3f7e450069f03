import { Server } from '@modelcontextprotocol/server';
import packageJson from '../../package.json' with { type: 'json' };
import { brandTitle } from '../config.ts';
import type { Operation, Services } from '../operations/operation.ts';
import { createCallTool } from './call-tool.ts';
import { toInstructions } from './instructions.ts';
import { createResources } from './resources.ts';
import { createToolList, isTool } from './tool-list.ts';
import type { Visitor } from './visitor.ts';

export interface ServerFactoryOptions {
  services: Services;
  operations: readonly Operation[];
}

/** How long a client may keep a tool list (protocol 2026-07-28); it changes only with a new version or another key. */
const listLifeMs = 300_000;

/**
 * Makes protocol servers over the operations, one for each HTTP request or stdio connection; all that is worth
 * keeping is made here, once. The low-level server is used because the high-level one converts every schema again
 * for each instance.
 */
export const createServerFactory = ({
  services,
  operations,
}: ServerFactoryOptions): ((visitor: Visitor) => Server) => {
  const { brand } = services.config;
  const onSale = new Set(services.config.models.map(({ kind }) => kind));
  const toolOperations = operations
    .filter(isTool)
    .filter(({ sells }) => sells === undefined || onSale.has(sells));
  const tools = createToolList({ operations: toolOperations });
  const callTool = createCallTool({ tools, services });
  const resources = createResources(operations, services);
  const identity = {
    name: brand,
    title: brandTitle(services.config),
    version: packageJson.version,
  };
  const cacheHint = { ttlMs: listLifeMs, cacheScope: 'private' as const };

  return (visitor) => {
    const { group, hasKey } = visitor;
    const server = new Server(identity, {
      capabilities: { tools: {}, ...(group === 'search' ? {} : { resources: {} }) },
      instructions: toInstructions({ operations: toolOperations, group, hasKey }),
      cacheHints: { 'tools/list': cacheHint, 'server/discover': cacheHint },
    });
    if (group !== 'search') {
      server.setRequestHandler('resources/list', (_request, { mcpReq }) =>
        resources.list(visitor, mcpReq.signal),
      );
      server.setRequestHandler('resources/templates/list', () => resources.templates(visitor));
      server.setRequestHandler('resources/read', ({ params }, { mcpReq }) =>
        resources.read(params.uri, visitor, mcpReq.signal),
      );
    }
    server.setRequestHandler('tools/list', () => tools.list(group, hasKey));
    server.setRequestHandler('tools/call', ({ params }, context) => callTool(params, context, visitor));
    return server;
  };
};

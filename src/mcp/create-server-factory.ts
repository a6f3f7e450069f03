import { Server } from '@modelcontextprotocol/server';
import packageJson from '../../package.json' with { type: 'json' };
import { brandTitle } from '../kit/brand-title.ts';
import { areOnSale } from '../operations/search/is-on-sale.ts';
import { withoutKeys } from '../kit/log-request.ts';
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

/** Characters of a tool's name, which strangers may invent, in the log. */
const maxShownName = 64;

/**
 * How long a client may keep a tool list (protocol 2026-07-28). It changes with a new version, another key, and when
 * something goes on sale or off it.
 */
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
  const unpaidOperations = toolOperations.filter(({ payment }) => payment !== 'x402');
  const unpaidTools = createToolList({ operations: unpaidOperations });
  const isAllOnSale = (): boolean => areOnSale(toolOperations, services);
  const callTool = createCallTool({ tools, services });
  const resources = createResources(operations, services);
  const identity = {
    name: brand,
    title: brandTitle(services.config),
    version: packageJson.version,
  };
  /** Tells the log what is called. */
  const logged = async <T>(
    visitor: Visitor,
    call: string,
    answer: (visitor: Visitor) => T | Promise<T>,
  ): Promise<T> => {
    if (!visitor.logsCalls) {
      visitor.note.call = call;
      return answer(visitor);
    }
    const requestId = visitor.requestId();
    const startedAt = performance.now();
    try {
      return await answer({ ...visitor, requestId: () => requestId });
    } finally {
      const ms = Math.round(performance.now() - startedAt);
      services.log.info({ requestId, ms, ...visitor.note, call }, 'request');
    }
  };
  const cacheHint = { ttlMs: listLifeMs, cacheScope: 'private' as const };

  return (visitor) => {
    const { group, hasKey } = visitor;
    const server = new Server(identity, {
      capabilities: { tools: {}, ...(group === 'search' ? {} : { resources: {} }) },
      instructions: toInstructions({
        operations: isAllOnSale() ? toolOperations : unpaidOperations,
        group,
        hasKey,
      }),
      cacheHints: { 'tools/list': cacheHint, 'server/discover': cacheHint },
    });
    if (group !== 'search') {
      server.setRequestHandler('resources/list', (_request, { mcpReq }) =>
        logged(visitor, 'resources/list', (known) => resources.list(known, mcpReq.signal)),
      );
      server.setRequestHandler('resources/templates/list', () =>
        logged(visitor, 'resources/templates/list', resources.templates),
      );
      server.setRequestHandler('resources/read', ({ params }, { mcpReq }) =>
        logged(visitor, 'resources/read', (known) => resources.read(params.uri, known, mcpReq.signal)),
      );
    }
    server.setRequestHandler('tools/list', () =>
      logged(visitor, 'tools/list', () => (isAllOnSale() ? tools : unpaidTools).list(group, hasKey)),
    );
    server.setRequestHandler('tools/call', ({ params }, context) =>
      logged(visitor, `tools/call ${withoutKeys(params.name).slice(0, maxShownName)}`, (known) =>
        callTool(params, context, known),
      ),
    );
    return server;
  };
};

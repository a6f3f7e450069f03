import type { ListToolsResult } from '@modelcontextprotocol/server';
import type { ModelConfig } from '../accounts/catalog/model.ts';
import { firstSentence } from '../kit/text.ts';
import type { ToolOperation } from '../operations/definition.ts';
import { needsKey, toTool } from './tool-list.ts';
import { toMainInputSchema, type JsonSchema } from './tool-schemas.ts';

/** SKUs that a tool names. Those of more are on the home page. */
const maxSkus = 8;

/**
 * Lists the tools for a wallet, which has no key: those that it can pay for, and those of its account that it will need.
 * A model reads the list in every conversation, so it is short: no schemas of answers, and of a tool with main arguments
 * these alone.
 */
export const createWalletTools = (
  operations: readonly ToolOperation[],
  models: readonly ModelConfig[],
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

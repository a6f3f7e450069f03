import type { ListToolsResult, Tool } from '@modelcontextprotocol/server';
import { LRUCache } from 'lru-cache';
import { defaultModel } from '../accounts/catalog/catalog.ts';
import type { ModelConfig } from '../accounts/catalog/model.ts';
import { firstSentence } from '../kit/text.ts';
import type { Services } from '../operations/call.ts';
import type { Operation, ToolOperation } from '../operations/definition.ts';
import { rulesOf } from '../operations/sale-rules.ts';
import { unknownWallet } from '../operations/per-call-sale.ts';
import { isIn, isTool, needsKey, toTool, type McpIdentity } from './tool-list.ts';
import { toInputSchema, toMainInputSchema, type JsonSchema, type ObjectSchema } from './tool-schemas.ts';

type Models = readonly ModelConfig[];

/** The most lists in memory. */
const maxLists = 64;

/**
 * Returns a function that lists the tools for the account of a key, or for a wallet without one. It makes a list once for
 * the same operations and SKUs. Rejects with AppError when the key has ended.
 */
export const createBuyerLists = (services: Services) => {
  const made = new LRUCache<string, { operations: readonly Operation[]; list: ListToolsResult }>({
    max: maxLists,
  });
  return async (
    operations: readonly Operation[],
    { caller, group, hasKey }: Pick<McpIdentity, 'caller' | 'group' | 'hasKey'>,
  ): Promise<ListToolsResult> => {
    const buyer = hasKey ? await caller() : null;
    if (hasKey) await services.catalogs.refresh();
    const models = services.catalogs.for(buyer ?? unknownWallet(services)).list();
    const key = [group, hasKey, ...models.map(({ sku }) => sku)].join('\n');
    const known = made.get(key);
    if (known?.operations === operations) return known.list;
    const inGroup = operations.filter(isTool).filter((operation) => isIn(group, operation));
    const list = listBuyerTools(inGroup, models, { group, hasKey });
    made.set(key, { operations, list });
    return list;
  };
};

/**
 * Lists the tools for the account of a key without those that sell only kinds of SKUs that it cannot buy; or for a wallet,
 * which has no key, those that it can pay for, that sign it in, and those of its account that it will need.
 */
export const listBuyerTools = (
  operations: readonly ToolOperation[],
  models: Models,
  { group, hasKey }: Pick<McpIdentity, 'group' | 'hasKey'>,
): ListToolsResult =>
  Object.freeze({
    tools: hasKey
      ? operations
          .filter(({ sale }) => !rulesOf(sale).isSignIn)
          .filter(({ sells }) => sells === undefined || defaultModel(models, sells) !== null)
          .map((operation) => ({
            ...toTool(operation, group),
            inputSchema: withModels(toInputSchema(operation), operation, models),
          }))
      : operations
          .filter((operation) => !needsKey(operation) || operation.tool.main !== undefined)
          .map((operation) => toWalletTool(operation, models)),
  });

/**
 * Describes a tool to a wallet. A model reads the list in every conversation, so it is short: no schemas of answers, and of
 * a tool with main arguments these alone.
 */
const toWalletTool = (operation: ToolOperation, models: Models): Tool => {
  const { outputSchema: _answer, ...tool } = toTool(operation, 'all');
  const main = toMainInputSchema(operation);
  if (main === null) return tool;
  return {
    ...tool,
    description: firstSentence(operation.description),
    inputSchema: withModels(main, operation, models),
  };
};

/** The most SKUs that a tool names. Those of more are in `list_models` and on the home page. */
const maxSkus = 8;

/** Adds to the argument `model`, where a tool takes it, the SKUs to choose from, and the one that is taken without it. */
const withModels = (schema: ObjectSchema, { sells }: ToolOperation, models: Models): ObjectSchema => {
  const takesModel = Object.hasOwn(schema.properties, 'model');
  const first = sells === undefined || !takesModel ? null : defaultModel(models, sells);
  if (first === null) return schema;
  const skus = models.filter(({ kind }) => kind === sells).map(({ sku }) => sku);
  const model: JsonSchema = {
    type: 'string',
    ...(skus.length > maxSkus ? { description: `A ${sells} SKU from list_models.` } : { enum: skus }),
    default: first.sku,
  };
  return { ...schema, properties: { ...schema.properties, model } };
};

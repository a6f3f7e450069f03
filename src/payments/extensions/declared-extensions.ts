import type { Json, JsonObject } from '../../kit/json.ts';
import type { Extension, Extensions } from '../core/wire.ts';
import { paymentIdentifier, paymentIdentifierDeclaration } from './payment-identifier.ts';
import type { SaleDescription } from './sale-description.ts';

/** The key of the catalogues' extension (specs/extensions/bazaar.md). */
export const bazaar = 'bazaar';

/** The specification asks for this dialect by name. */
const dialect = 'https://json-schema.org/draft/2020-12/schema';

interface Declaration {
  input: JsonObject;
  /** JSON Schemas of the members of `input`. */
  members: JsonObject;
  required: string[];
  outputExample: JsonObject;
}

const declare = ({ input, members, required, outputExample }: Declaration): Extension => ({
  info: { input, output: { type: 'json', example: outputExample } },
  schema: {
    $schema: dialect,
    type: 'object',
    properties: { input: { type: 'object', properties: members, required, additionalProperties: false } },
    required: ['input'],
  },
});

const withoutDetails = (member: Json): Json => {
  if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
  const { description: _description, default: _default, maxLength: _maxLength, ...rest } = member;
  return rest;
};

/** The members with types and numbers alone: a header has little room, and the interface description has the rest. */
const outline = (schema: JsonObject): JsonObject => {
  const { properties } = schema;
  if (typeof properties !== 'object' || properties === null || Array.isArray(properties)) return schema;
  const outlined = Object.entries(properties).map(([name, member]) => [name, withoutDetails(member)]);
  return { ...schema, properties: Object.fromEntries(outlined) };
};

/** Declares how to call a sale over HTTP, for facilitators that catalogue what they settle. */
const declareForHttp = (sale: SaleDescription): Extension => {
  const { method, inputSchema, inputExample, outputExample } = sale;
  const isGet = method === 'GET';
  const schema = outline(inputSchema);
  const members = { type: { const: 'http' }, method: { enum: [method] } };
  return declare({
    input: {
      type: 'http',
      method,
      ...(isGet ? { queryParams: inputExample } : { bodyType: 'json', body: inputExample }),
    },
    members: isGet
      ? { ...members, queryParams: schema }
      : { ...members, bodyType: { enum: ['json'] }, body: schema },
    required: ['type', 'method', ...(isGet ? [] : ['bodyType', 'body'])],
    outputExample,
  });
};

/** Declares how to call the tool of a sale. */
const declareForMcp = (sale: SaleDescription & { toolName: string }): Extension =>
  declare({
    input: {
      type: 'mcp',
      toolName: sale.toolName,
      description: sale.title,
      transport: 'streamable-http',
      inputSchema: sale.inputSchema,
      example: sale.inputExample,
    },
    members: {
      type: { const: 'mcp' },
      toolName: { type: 'string' },
      description: { type: 'string' },
      transport: { enum: ['streamable-http'] },
      inputSchema: { type: 'object' },
      example: { type: 'object' },
    },
    required: ['type', 'toolName', 'inputSchema'],
    outputExample: sale.outputExample,
  });

/**
 * Returns what every challenge for a sale declares over HTTP and over MCP. A facilitator is told the same, in place of
 * what the buyer sent: nobody else writes what is catalogued of this service.
 */
export const declareExtensions = (sale: SaleDescription): Readonly<Record<'rest' | 'mcp', Extensions>> => {
  const common: Extensions = { [paymentIdentifier]: paymentIdentifierDeclaration };
  if (sale.isFree === true) return { rest: common, mcp: common };
  const { toolName } = sale;
  return {
    rest: { ...common, [bazaar]: declareForHttp(sale) },
    mcp: toolName === null ? common : { ...common, [bazaar]: declareForMcp({ ...sale, toolName }) },
  };
};

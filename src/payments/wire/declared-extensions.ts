import type { Json, JsonObject } from '../../kit/json.ts';
import type { Extension, Extensions } from '../chains/core/wire.ts';
import { paymentIdentifier, paymentIdentifierDeclaration } from './payment-identifier.ts';
import type { SaleDescription } from './sale-description.ts';

/** The key of the catalogues' extension (specs/extensions/bazaar.md). */
export const bazaar = 'bazaar';

/** The specification asks for this dialect by name. */
const dialect = 'https://json-schema.org/draft/2020-12/schema';

/** A member of `input`, its JSON Schema, and whether it may be left out. */
type Member = readonly [name: string, value: Json, schema: JsonObject, isOptional?: 'optional'];

const declare = (members: readonly Member[], outputExample: JsonObject): Extension => ({
  info: {
    input: Object.fromEntries(members.map(([name, value]) => [name, value])),
    output: { type: 'json', example: outputExample },
  },
  schema: {
    $schema: dialect,
    type: 'object',
    properties: {
      input: {
        type: 'object',
        properties: Object.fromEntries(members.map(([name, , schema]) => [name, schema])),
        required: members.flatMap(([name, , , isOptional]) => (isOptional === undefined ? [name] : [])),
        additionalProperties: false,
      },
    },
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
const declareForHttp = ({ method, inputSchema, inputExample, outputExample }: SaleDescription): Extension => {
  const schema = outline(inputSchema);
  const parameters: Member[] =
    method === 'GET'
      ? [['queryParams', inputExample, schema, 'optional']]
      : [
          ['bodyType', 'json', { enum: ['json'] }],
          ['body', inputExample, schema],
        ];
  return declare(
    [['type', 'http', { const: 'http' }], ['method', method, { enum: [method] }], ...parameters],
    outputExample,
  );
};

const text = { type: 'string' };
const object = { type: 'object' };
const transport = 'streamable-http';

/** Declares how to call the tool of a sale. */
const declareForMcp = (sale: SaleDescription & { toolName: string }): Extension =>
  declare(
    [
      ['type', 'mcp', { const: 'mcp' }],
      ['toolName', sale.toolName, text],
      ['description', sale.title, text, 'optional'],
      ['transport', transport, { enum: [transport] }, 'optional'],
      ['inputSchema', sale.inputSchema, object],
      ['example', sale.inputExample, object, 'optional'],
    ],
    sale.outputExample,
  );

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

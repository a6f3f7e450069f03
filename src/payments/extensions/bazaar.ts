import type { Extension } from '../wire.ts';
import type { SaleDescription } from './sale-description.ts';

/** The extension's key (specs/extensions/bazaar.md). */
export const bazaar = 'bazaar';

/** The specification asks for this dialect by name. */
const $schema = 'https://json-schema.org/draft/2020-12/schema';

const toExtension = (input: Extension['info'], inputMembers: Extension['schema'], example: Extension['info']) => ({
  info: { input, output: { type: 'json', example } },
  schema: {
    $schema,
    type: 'object',
    properties: {
      input: {
        type: 'object',
        properties: inputMembers,
        required: Object.keys(inputMembers).filter((name) => name !== 'queryParams' && name !== 'example'),
        additionalProperties: false,
      },
      output: {
        type: 'object',
        properties: { type: { type: 'string' }, example: { type: 'object' } },
        required: ['type'],
      },
    },
    required: ['input'],
  },
});

/** How to call what is sold over HTTP, for facilitators that catalogue what they settle. */
export const declareForHttp = (sale: SaleDescription): Extension =>
  toExtension(
    { type: 'http', method: 'GET', queryParams: sale.inputExample },
    { type: { const: 'http' }, method: { enum: ['GET'] }, queryParams: sale.inputSchema },
    sale.outputExample,
  );

/** The same for the tool. */
export const declareForMcp = (sale: SaleDescription): Extension =>
  toExtension(
    {
      type: 'mcp',
      toolName: sale.toolName,
      description: sale.description,
      transport: 'streamable-http',
      inputSchema: sale.inputSchema,
      example: sale.inputExample,
    },
    {
      type: { const: 'mcp' },
      toolName: { const: sale.toolName },
      description: { type: 'string' },
      transport: { const: 'streamable-http' },
      inputSchema: { type: 'object' },
      example: { type: 'object' },
    },
    sale.outputExample,
  );

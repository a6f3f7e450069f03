import { z } from 'zod';
import type { OfferedTool } from '../../mounts/create-mounts.ts';
import { usd } from '../answer-fields.ts';
import { jsonAnswer } from '../answer.ts';
import type { Services } from '../call.ts';
import { readOperation } from '../define-operation.ts';
import { offeredTools } from './offered-tools.ts';
import { defineView } from '../view.ts';
import { priceTexts, toPriceParts } from './tool-price.ts';

const schemaOf = z.record(z.string(), z.json());

const toolView = defineView<OfferedTool, unknown>({
  mcp_name: 'Its name at `/mcp/tools`.',
  ...priceTexts,
  annotations:
    'What its server says of it: `readOnlyHint`, `destructiveHint`, `idempotentHint`, `openWorldHint`.',
})({
  server: [z.string(), 'server', 'files'],
  tool: [z.string(), ({ definition }) => definition.name, 'read_text_file'],
  mcp_name: [z.string(), 'name', 'files__read_text_file'],
  title: [z.string().nullable(), ({ definition }) => definition.title ?? null, 'Read Text File'],
  description: [
    z.string().nullable(),
    ({ definition }) => definition.description ?? null,
    'Reads a file as text.',
  ],
  input_schema: [
    schemaOf,
    ({ definition }) => definition.inputSchema,
    { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  ],
  output_schema: [schemaOf.nullable(), ({ definition }) => definition.outputSchema ?? null, null],
  annotations: [schemaOf, ({ definition }) => definition.annotations ?? {}, { readOnlyHint: true }],
  price_usd: [usd, (tool) => toPriceParts(tool).price_usd, '0.002'],
  unit: [z.enum(['call', 'row']), (tool) => toPriceParts(tool).unit, 'call'],
  max_rows: [z.int().nullable(), (tool) => toPriceParts(tool).max_rows, null],
});

const output = z.looseObject({ tools: z.array(z.looseObject(toolView.schema.shape)) });

export const listMountedTools = readOperation<Record<string, never>, Pick<Services, 'mounts'>>({
  name: 'list_mounted_tools',
  title: 'List tools',
  description: 'The tools of mounted MCP servers that can be called now, with their prices.',
  input: z.object({}),
  output,
  group: 'tools',
  path: '/v1/tools',
  docs: {
    answer: 'ToolList',
    examples: [{ summary: 'List tools', answer: { tools: [toolView.example] } }],
  },
  tool: null,
  handle: async (_input, { caller }, services) => {
    const offered = await offeredTools(caller, services);
    return jsonAnswer({ tools: offered.map((tool) => toolView.show(tool, undefined)) });
  },
});

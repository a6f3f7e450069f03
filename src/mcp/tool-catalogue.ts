import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { toJsonText, type JsonObject } from '../kit/json.ts';
import type { OfferedTool } from '../mounts/create-mounts.ts';
import { toPriceParts } from '../operations/tools/tool-price.ts';

const called: Tool['inputSchema'] = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'The name of the tool, from search_tools.' },
    arguments: { type: 'object', description: 'Its arguments, as its input_schema says.' },
  },
  required: ['name'],
};

/** Stand in a list for more tools than a model should read. */
export const catalogueTools: readonly Tool[] = [
  {
    name: 'search_tools',
    description:
      'Finds tools by words in their names and descriptions, with their arguments and prices. Free. Call what you find ' +
      'with call_read_tool or call_tool.',
    inputSchema: {
      type: 'object',
      properties: { query: { type: 'string', description: 'A few words, such as "read file".' } },
      required: ['query'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: 'call_read_tool',
    description: 'Calls a tool that search_tools found, if it has read_only: true.',
    inputSchema: called,
    annotations: { readOnlyHint: true, openWorldHint: true },
  },
  {
    name: 'call_tool',
    description: 'Calls any tool that search_tools found.',
    inputSchema: called,
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
  },
];

/** Returns whether a tool name is one of the mounted tools, or stands for them: no name of an operation is such a one. */
export const isMountedName = (name: string): boolean =>
  name.includes('__') || catalogueTools.some((tool) => tool.name === name);

export const isReadOnly = ({ definition }: OfferedTool): boolean =>
  definition.annotations?.['readOnlyHint'] === true;

/** What a search reads and answers at most. It takes the time of this process. The first tool is answered at any length. */
const most = { words: 16, query: 500, description: 1_000, tools: 10, characters: 40_000 };

/** Finds the tools that have the most words of a query in their names, titles and descriptions. Null: it has no words. */
export const searchTools = (tools: readonly OfferedTool[], query: unknown): CallToolResult | null => {
  const text = typeof query === 'string' ? query.slice(0, most.query).toLowerCase() : '';
  const words = [...new Set(text.match(/[\p{L}\p{N}]+/gu))].slice(0, most.words);
  if (words.length === 0) return null;
  const ranked = tools
    .map((tool) => ({ tool, rank: rankOf(tool, words) }))
    .filter(({ rank }) => rank > 0)
    .toSorted((a, b) => b.rank - a.rank);
  let characters = 0;
  const shown = ranked.slice(0, most.tools).flatMap(({ tool }, index) => {
    const described = describe(tool);
    characters += JSON.stringify(described).length;
    return index === 0 || characters <= most.characters ? described : [];
  });
  const servers = [...new Set(tools.map(({ server }) => server))].slice(0, most.tools).join(', ');
  const hint = shown.length > 0 ? null : `No tool has these words. Use others. Servers: ${servers}`;
  const body = { tools: shown, more: ranked.length - shown.length, hint };
  return { content: [{ type: 'text', text: toJsonText(body) }], structuredContent: body };
};

/** A word in the name or title counts more than one in the description. */
const rankOf = ({ name, definition }: OfferedTool, words: readonly string[]): number => {
  const naming = `${name} ${definition.title ?? ''}`.toLowerCase();
  const describing = definition.description?.slice(0, most.description).toLowerCase() ?? '';
  const ranks = words.map((word) => (naming.includes(word) ? 3 : describing.includes(word) ? 1 : 0));
  return ranks.reduce((sum: number, rank) => sum + rank, 0);
};

const describe = (tool: OfferedTool): JsonObject => {
  const { title = null, description = null, inputSchema } = tool.definition;
  return {
    name: tool.name,
    title,
    description,
    input_schema: inputSchema,
    ...toPriceParts(tool),
    read_only: isReadOnly(tool),
  };
};

import { expect, it } from 'vitest';
import { isMountedName, searchTools } from '../../src/mcp/tool-catalogue.ts';
import type { OfferedTool } from '../../src/mounts/create-mounts.ts';
import { createOperations } from '../../src/operations/index.ts';
import { readConfig } from '../../src/config/config.ts';

const tool = (name: string, description: string, title = ''): OfferedTool => ({
  server: 's',
  tool: name,
  name: `s__${name}`,
  definition: { name, title, description, inputSchema: { type: 'object' } },
  pin: '',
  price: 0n,
  rows: null,
  unpaidMs: null,
  callsPerMinute: 1,
  maxInput: Infinity,
});

interface Body {
  tools: { name: string }[];
  more: number;
}
const search = (tools: OfferedTool[], query: string) => {
  const { tools: found, more } = JSON.parse(
    JSON.stringify(searchTools(tools, query)?.structuredContent),
  ) as Body;
  return { names: found.map(({ name }) => name.slice(3)), more };
};

it('the tool with the most words comes first, and a name or title counts more than a description', () => {
  const tools = [
    tool('write_file', 'Writes, after it has read, a file.'),
    tool('fetch', 'Loads a page.', 'Read a page'),
    tool('read_file', 'Loads a FILE.'),
    tool('other', 'Nothing.'),
  ];
  expect(search(tools, 'READ, file!')).toEqual({ names: ['read_file', 'write_file', 'fetch'], more: 0 });
});

it('a search answers ten tools, says how many more there are, and bounds its text', () => {
  const many = Array.from({ length: 25 }, (_, index) => tool(`a${index}`, 'Reads.'));
  expect(search(many, 'reads').names).toHaveLength(10);
  expect(search(many, 'reads').more).toBe(15);
  const large = many.map((one) => tool(one.tool, `Reads. ${'x'.repeat(7_900)}`));
  const text = JSON.stringify(searchTools(large, 'reads'));
  expect(search(large, 'reads')).toMatchObject({ names: ['a0', 'a1', 'a2', 'a3'], more: 21 });
  expect(text.length).toBeLessThan(100_000);
  const huge = {
    ...tool('huge', 'Reads.'),
    definition: { name: 'huge', inputSchema: { a: 'x'.repeat(60_000) } },
  };
  expect(search([huge, ...many], 'huge').names).toEqual(['huge']);
});

it('no tool of our own has a name that stands for mounted tools', () => {
  const { search: settings } = readConfig({}, null);
  for (const { name } of createOperations(settings, undefined, { isOn: true }))
    expect(isMountedName(name)).toBe(false);
});

import { describe, expect, it } from 'vitest';
import type { ToolDefinition } from '../../src/mounts/check-tool.ts';
import type { MountConfig, ToolSettings } from '../../src/mounts/mount-settings.ts';
import { readTools } from '../../src/mounts/read-tools.ts';
import { showTool } from '../../src/mounts/show-tool.ts';
import { mountConfig, programTarget } from './mount-config.ts';

const settings = (more: Partial<ToolSettings> = {}): ToolSettings => ({ fixed: {}, defaults: {}, ...more });
const inputSchema = {
  type: 'object',
  properties: { root: { type: 'string' }, head: { type: 'number' }, path: true },
  required: ['root', 'head', 'path'],
  additionalProperties: false,
};
const listed = (...names: string[]) => names.map((name) => ({ name, inputSchema }));
const withTools = (tools: Record<string, ToolSettings>, more: Partial<MountConfig> = {}): MountConfig =>
  mountConfig('files', programTarget(), { tools: new Map(Object.entries(tools)), ...more });
const problems = async (names: string[], config: MountConfig) => {
  const { found } = await readTools(listed(...names), config);
  return [...found].map(([name, { problem }]) => [name, problem]);
};

describe('what an operator says of a tool', () => {
  const definition: ToolDefinition = { name: 'read', title: 'Read', description: 'Reads.', inputSchema };

  it('is what callers see, without fixed arguments and with the defaults', () => {
    const words = { name: 'open', title: 'Open', description: 'Opens a file of ours.' };
    const shown = showTool(
      definition,
      settings({ ...words, fixed: { root: '/srv' }, defaults: { head: 5, path: 'a' } }),
    );
    expect(shown).toEqual({
      ...words,
      inputSchema: {
        type: 'object',
        properties: { head: { type: 'number', default: 5 }, path: true },
        required: [],
        additionalProperties: false,
      },
    });
  });

  it('leaves as it is what it does not name', () => {
    expect(showTool(definition, undefined)).toBe(definition);
    expect(showTool(definition, settings({ fixed: { absent: 1 } }))).toEqual(definition);
    const bare = { name: 'read', inputSchema: { type: 'object' } };
    expect(showTool(bare, settings({ fixed: { toString: 1 } }))).toEqual(bare);
  });

  it('gives a name that models can call to a tool that had none', async () => {
    const config = withTools({ 'read.file': settings({ name: 'read' }) });
    expect(await problems(['read.file', 'write.file'], config)).toEqual([['read.file', null]]);
  });

  it('hides a tool whose new name is too long with that of its server', async () => {
    const config = withTools({ read: settings({ name: 'r'.repeat(60) }) });
    const { found, missing } = await readTools(listed('read'), config);
    expect([[...found.keys()], missing]).toEqual([[], ['read']]);
  });
});

describe('the list of a server', () => {
  it('loses both tools that have one name for callers, and no other', async () => {
    const config = withTools({ read: settings({ name: 'open' }) });
    const problem = 'Two tools of this server have the name open for callers.';
    expect(await problems(['read', 'open', 'write'], config)).toEqual([
      ['read', problem],
      ['open', problem],
      ['write', null],
    ]);
    expect(await problems(['read', 'open'], { ...config, hide: ['open'] })).toEqual([['read', null]]);
  });

  it('tells which tools and arguments of the settings it does not have', async () => {
    const config = withTools(
      { read: settings({ fixed: { root: 1, rot: 1 }, defaults: { haed: 1 } }), raed: settings() },
      { hide: ['raed', 'wirte'] },
    );
    const { missing } = await readTools(listed('read'), config);
    expect(missing).toEqual(['raed', 'wirte', 'read.rot', 'read.haed']);
  });
});

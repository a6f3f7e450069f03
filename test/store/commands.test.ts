import { readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { commands } from '../../src/store/commands.ts';

const folder = new URL('../../src/store/commands/', import.meta.url);

describe('the list of commands', () => {
  it('has every command that a file declares, each under a name of its own', async () => {
    const listed = new Map<string, unknown>(Object.entries(commands));
    const declared: string[] = [];
    for (const file of await readdir(folder)) {
      const exported: Record<string, unknown> = await import(new URL(file, folder).href);
      for (const [name, value] of Object.entries(exported)) {
        if (typeof value !== 'object' || value === null || !('steps' in value)) continue;
        declared.push(name);
        expect(listed.get(name)).toBe(value);
      }
    }
    expect(declared.sort()).toEqual([...listed.keys()].sort());
  });
});

import { readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { commandMethods, commands } from '../../src/store/commands.ts';

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

it('an account, and each read of no account, has one long read at a time, and nothing else waits for it', async () => {
  const ended = Promise.withResolvers<void>();
  const begun: string[] = [];
  const store = commandMethods(async (name, _command, input) => {
    const { accountId = '' }: { accountId?: string } = Object(input);
    begun.push(`${name} ${accountId}`);
    if (name.startsWith('sum')) await ended.promise;
  });
  const sums = ['one', 'one', 'one', 'other'].map((accountId) =>
    store.sumUsage({ accountId, from: 0, to: 1 }),
  );
  const all = [store.sumModels({ from: 0, to: 1 }), store.sumModels({ from: 0, to: 1 })];
  await store.owesForJobs('one');
  await expect
    .poll(() => begun.toSorted())
    .toEqual(['owesForJobs ', 'sumModels ', 'sumUsage one', 'sumUsage other']);
  ended.resolve();
  await Promise.all([...sums, ...all]);
  expect(begun.slice(4).toSorted()).toEqual(['sumModels ', 'sumUsage one', 'sumUsage one']);
});

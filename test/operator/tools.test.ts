import { expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { acceptTools, diffTools, listTools, showTool, toolRevenue } from '../../src/operator/tools.ts';
import { runVerb } from '../../src/operator/run-verb.ts';
import type { OperatorServices, Verb } from '../../src/operator/verb.ts';
import { mountYaml } from '../mounts/mount-yaml.ts';
import { openTestStoreHere } from './open-test-store-here.ts';

const openServices = async (): Promise<OperatorServices> => ({
  store: await openTestStoreHere(),
  clock: systemClock,
  brand: 'causeway',
  config: async () =>
    readConfig({}, mountYaml({ s: { prices: { a: '0.5', b: { rows: '/r', each: 0.001, max: 50 } } } })),
});
const call = { actor: 'cli:me', actorLabel: null, role: 'write', requestId: null } as const;

const pinOf = (letter: string): string => letter.repeat(64);
const seen = (tool: string, description: string, pin: string) => ({
  tool,
  definition: JSON.stringify({ name: tool, description, inputSchema: { type: 'object' } }),
  pin,
  problem: null,
});

it('tools are compared with what was accepted, and accepted as they are now', async () => {
  const services = await openServices();
  const run = (verb: Verb, input: object): Promise<object> =>
    runVerb(verb, async () => input, call, services);
  const note = (...tools: ReturnType<typeof seen>[]) =>
    services.store.noteMountedTools({ server: 's', tools, now: 1 });
  await note(seen('a', 'Reads.', pinOf('a')), seen('b', 'Writes.', pinOf('b')));
  expect(await run(listTools, {})).toMatchObject({
    tools: [
      { tool: 'a', state: 'new', price_usd: '0.50', unit: 'call', max_rows: null },
      { tool: 'b', state: 'new', price_usd: '0.001', unit: 'row', max_rows: 50 },
    ],
  });
  await expect(run(acceptTools, { server: 's', tool: 'a', pin: pinOf('c') })).rejects.toMatchObject({
    code: 'invalid_value',
  });
  await expect(run(acceptTools, { server: 's', tool: 'x' })).rejects.toMatchObject({
    code: 'tool_not_found',
  });
  expect(await run(acceptTools, { server: 's', tool: 'a', pin: 'a'.repeat(12) })).toMatchObject({
    tools: [{ tool: 'a', state: 'accepted', accepted_by: 'cli:me' }],
  });
  await run(acceptTools, { server: 's' });
  await note(seen('a', 'Obey.', pinOf('d')), seen('b', 'Writes.', pinOf('b')));
  expect(await run(diffTools, { server: 's' })).toMatchObject({
    tools: [{ tool: { tool: 'a' }, changes: [{ member: 'description', accepted: 'Reads.', now: 'Obey.' }] }],
  });
  expect(await run(showTool, { server: 's', tool: 'a' })).toMatchObject({
    tool: { state: 'changed' },
    definition: { description: 'Obey.' },
    accepted: { description: 'Reads.' },
  });
  await services.store.noteMountedTools({
    server: 's',
    tools: [{ tool: 'a', definition: null, pin: null, problem: 'It is bad.' }],
    now: 2,
  });
  await expect(run(acceptTools, { server: 's', tool: 'a' })).rejects.toThrow(/It is bad/);
});

it('calls are summed up over 366 days at most', async () => {
  const services = await openServices();
  const sum = (from: string) =>
    runVerb(toolRevenue, async () => ({ from, to: '2026-11-28' }), call, services);
  await expect(sum('2025-11-27')).resolves.toMatchObject({ tools: [] });
  await expect(sum('2025-11-26T23:59:59Z')).rejects.toMatchObject({
    code: 'invalid_range',
    message: expect.stringContaining('at most 366 days before to, which is 2026-11-28T00:00:00.000Z'),
  });
});

import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { layKillableGateway } from './killable-gateway.ts';
import { hostileProgram } from './mount-yaml.ts';
import { isAlive, makeFolder } from './start-mounts.ts';

/** A folder for the PATH that has Node and, where it is wanted and there, setpriv. */
const makePath = (programs: Record<string, string>): string => {
  const folder = makeFolder();
  mkdirSync(join(folder, 'bin'));
  for (const [name, target] of Object.entries(programs)) symlinkSync(target, join(folder, 'bin', name));
  return join(folder, 'bin');
};
const setpriv = '/usr/bin/setpriv';
const programs = { true: '/bin/true', node: process.execPath };

/** Ignores the end of its input, and that its group is to end. */
const stubborn = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6); String(process.pid)`;

const layStubborn = async (path: string) => {
  const killable = await layKillableGateway({ args: [hostileProgram] }, { PATH: path });
  const gateway = await killable.start('run');
  const tell = async (tool: string, input: object = {}): Promise<number> => {
    const answer = await killable.ask(gateway, `/v1/tools/hostile/${tool}`, { body: { arguments: input } });
    const { content } = (await answer.json()) as { content: { text: string }[] };
    return Number(content[0]?.text);
  };
  return {
    ...killable,
    gateway,
    child: await tell('run', { code: stubborn }),
    grandchild: await tell('fork'),
  };
};

it.skipIf(!existsSync(setpriv))(
  'a program ends with a gateway that is killed, where setpriv is there',
  async () => {
    const { gateway, child } = await layStubborn(makePath({ ...programs, setpriv }));
    expect(isAlive(child)).toBe(true);
    await gateway.kill();
    await expect.poll(() => isAlive(child)).toBe(false);
  },
);

it('what a program started ends at the next start, and so does a program without setpriv', async () => {
  const { start, dataDir, gateway, child, grandchild } = await layStubborn(makePath(programs));
  await gateway.kill();
  expect([isAlive(child), isAlive(grandchild)]).toEqual([true, true]);
  const next = await start('run');
  await expect.poll(() => [isAlive(child), isAlive(grandchild)]).toEqual([false, false]);
  const folder = join(dataDir, 'mounted-processes');
  expect(readdirSync(folder)).toHaveLength(1);
  await next.stop();
  expect(readdirSync(folder)).toEqual([]);
});

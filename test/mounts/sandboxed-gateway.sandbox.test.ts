import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { acceptToolsOf } from './accept-tools.ts';
import { layKillableGateway } from './killable-gateway.ts';
import { hostileProgram, programOf } from './mount-yaml.ts';
import { sandboxPath, testPlaces } from './sandbox-places.ts';
import { makeFolder } from './start-mounts.ts';
import { startMountingGateway } from './start-mounting-gateway.ts';

const sandbox = { sandbox: 'bubblewrap', read: testPlaces };

it('servers that nobody here wrote serve and sell their tools from their sandbox', async () => {
  const folder = makeFolder();
  writeFileSync(join(folder, 'a.txt'), 'hello');
  const gateway = await startMountingGateway(
    {
      everything: { ...sandbox, args: [programOf('everything')], prices: { 'get-sum': 1 } },
      files: { ...sandbox, args: [programOf('filesystem'), folder], read: [...testPlaces, folder] },
    },
    { PATH: sandboxPath },
  );
  onTestFinished(() => gateway.stop());
  await acceptToolsOf(gateway.services, 'everything');
  await acceptToolsOf(gateway.services, 'files');
  const sum = await gateway.call('/v1/tools/everything/get-sum', { body: { arguments: { a: 1, b: 2 } } });
  expect(sum.headers.get('x-causeway-charge-usd')).toBe('1.00');
  expect(await sum.json()).toMatchObject({ content: [{ text: expect.stringContaining('3') }] });
  const read = await gateway.call('/v1/tools/files/read_text_file', {
    body: { arguments: { path: join(folder, 'a.txt') } },
  });
  expect(await read.json()).toMatchObject({ content: [{ text: 'hello' }] });
});

/** The processes whose command has the text. */
const processesWith = (text: string): string[] =>
  readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(text);
    } catch {
      return false;
    }
  });

it('a program and what it started end with a gateway that is killed', async () => {
  const marks = [randomUUID(), randomUUID()] as const;
  const killable = await layKillableGateway(
    { ...sandbox, args: [hostileProgram, marks[0]] },
    { PATH: sandboxPath },
  );
  const gateway = await killable.start('run');
  const code = `setInterval(() => {}, 1e6); process.getBuiltinModule('node:child_process')
    .spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)', '${marks[1]}'], { detached: true, stdio: 'ignore' }).pid`;
  const answer = await killable.ask(gateway, '/v1/tools/hostile/run', { body: { arguments: { code } } });
  expect(answer.status).toBe(200);
  await expect.poll(() => marks.map((mark) => processesWith(mark).length > 0)).toEqual([true, true]);
  await gateway.kill();
  await expect.poll(() => marks.flatMap(processesWith)).toEqual([]);
});

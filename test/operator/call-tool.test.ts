import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { operatorOf, temporaryDataFolder } from '../cli/run-cli.ts';
import { hostileProgram, mountYaml } from '../mounts/mount-yaml.ts';
import { startMountingGateway } from '../mounts/start-mounting-gateway.ts';
import { isAlive } from '../mounts/start-mounts.ts';
import { createOperatorClient } from './operator-client.ts';

const server = { args: [hostileProgram], silence_ms: 2_000, tools: { echo: { fixed: { b: 2 } } } };

/** The operator's commands where the hostile server is mounted, and no gateway runs. */
const open = async (more: object = {}) => {
  const folder = await temporaryDataFolder();
  const file = join(folder, 'causeway.yaml');
  await writeFile(file, mountYaml({ hostile: { ...server, ...more } }));
  const settings = { DATA_DIR: folder, CAUSEWAY_CONFIG: file, PATH: process.env['PATH'] ?? '' };
  return operatorOf(settings);
};

it('calls a tool that nobody has accepted once, with the arguments that the settings fix, and ends its server', async () => {
  const { print } = await open();
  const given = '{"a":1}';
  expect(await print('tools', 'call', 'hostile', 'echo', '--arguments', given)).toMatchObject({
    exitCode: 0,
    stdout: '{"a":1,"b":2}\n',
  });
  const code = '{"code":"process.pid"}';
  const { stdout } = await print('tools', 'call', 'hostile', 'run', '--arguments', code);
  expect(isAlive(Number(stdout))).toBe(false);
});

it('prints what a tool says that failed, and exits with 1', async () => {
  const { print } = await open();
  const failed = await print('tools', 'call', 'hostile', 'fail');
  expect(failed).toMatchObject({ exitCode: 1, stdout: 'it failed\n' });
});

it('says whether a tool without an answer may have run', async () => {
  const { refusal } = await open();
  expect(await refusal('tools', 'call', 'hostile', 'hang')).toMatchObject({
    exitCode: 1,
    code: 'outcome_unknown',
  });
  const dead = await open({ args: ['-e', 'process.exit(1)'] });
  expect(await dead.refusal('tools', 'call', 'hostile', 'echo')).toMatchObject({
    exitCode: 1,
    code: 'upstream_unavailable',
    message: expect.stringContaining('did not run'),
  });
});

it('refuses a server that is not mounted, and arguments that are no JSON object', async () => {
  const { refusal } = await open();
  expect(await refusal('tools', 'call', 'other', 'echo')).toMatchObject({ code: 'tool_not_found' });
  for (const text of ['{"a":', '[1]'])
    expect(await refusal('tools', 'call', 'hostile', 'echo', '--arguments', text)).toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('must be a JSON object, such as'),
    });
});

it('keeps the call in the audit log, without its arguments', async () => {
  const { print, answer } = await open();
  await print('tools', 'call', 'hostile', 'echo', '--arguments', '{"token":"zzyzx"}');
  const changes = z.looseObject({ changes: z.array(z.looseObject({ operation: z.string() })) });
  const log = await answer(changes, 'audit', 'list');
  expect(log.changes[0]).toMatchObject({
    operation: 'call_tool',
    input: { server: 'hostile', tool: 'echo' },
  });
  expect(JSON.stringify(log)).not.toContain('zzyzx');
});

it('is a call of the API of operators, too, for a key that may write', async () => {
  const gateway = await startMountingGateway({ hostile: server });
  onTestFinished(() => gateway.stop());
  const call = async (role: 'read' | 'write') => {
    const client = await createOperatorClient(gateway, role);
    return client.post('/tools/hostile/echo/call', { arguments: { a: 1 } });
  };
  expect(await call('write')).toEqual({
    status: 200,
    body: { content: [{ type: 'text', text: '{"a":1,"b":2}' }] },
  });
  expect(await call('read')).toMatchObject({ status: 403 });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { gatewayArguments } from '../../scripts/node-arguments.ts';
import { layKillableGateway } from './killable-gateway.ts';
import { hostileProgram } from './mount-yaml.ts';
import { isAlive } from './start-mounts.ts';

it('a gateway of an assistant mounts servers at its HTTP addresses, and writes nothing of theirs to the assistant', async () => {
  const killable = await layKillableGateway({ args: [hostileProgram] });
  await (await killable.start('run')).stop();

  const gateway = spawn(process.execPath, [...gatewayArguments, '--stdio'], { env: killable.environment });
  onTestFinished(() => void gateway.kill('SIGKILL'));
  const exited = once(gateway, 'exit');
  const said: string[] = [];
  createInterface({ input: gateway.stdout }).on('line', (line) => said.push(line));
  let url = '';
  createInterface({ input: gateway.stderr }).on('line', (line) => {
    url ||= /listening on (http:\/\/\S+)/.exec(line)?.[1] ?? '';
  });
  await expect.poll(() => url).not.toBe('');
  await expect.poll(async () => (await killable.ask({ url }, '/v1/tools')).text()).toContain('"run"');
  const body = { arguments: { code: `console.error('a line for the log'); process.pid` } };
  const answer = await killable.ask({ url }, '/v1/tools/hostile/run', { body });
  const { content } = (await answer.json()) as { content: { text: string }[] };
  const pid = Number(content[0]?.text);
  expect(isAlive(pid)).toBe(true);

  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  for (const message of [
    { id: 1, method: 'initialize', params },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list' },
  ])
    gateway.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  await expect.poll(() => said.length).toBe(2);
  gateway.stdin.end();
  expect(await exited).toEqual([0, null]);
  expect(said.map((line) => JSON.parse(line).id)).toEqual([1, 2]);
  expect(said[1]).toContain('"search_leads"');
  expect(said[1]).not.toContain('hostile');
  expect(isAlive(pid)).toBe(false);
});

import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkSettings } from '../../src/cli/doctor/check-settings.ts';
import { listOf } from '../../src/cli/doctor/finding.ts';
import { readConfig } from '../../src/config/config.ts';
import { describeSandbox, toGuardedCommand } from '../../src/mounts/guarded-command.ts';
import { makeFolder, programConfig } from './start-mounts.ts';

const sandbox = { read: ['/srv/files'], write: [], network: false };

/** A folder for the PATH with programs that end with these codes. */
const makePath = (programs: Record<string, number>): string => {
  const folder = makeFolder();
  for (const [name, code] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\nexit ${code}\n`);
    chmodSync(join(folder, name), 0o700);
  }
  return folder;
};
const guard = (env: Record<string, string>, isSandboxed: boolean): Promise<string[]> =>
  toGuardedCommand({
    kind: 'stdio',
    command: 'server',
    args: ['--flag'],
    env,
    sandbox: isSandboxed ? sandbox : null,
  });

describe('a mounted program', () => {
  it('ends with its gateway by setpriv, where that can do it', async () => {
    expect(await guard({ PATH: makePath({ setpriv: 0 }) }, false)).toEqual([
      'setpriv',
      '--pdeathsig',
      'KILL',
      '--',
      'server',
      '--flag',
    ]);
    expect(await guard({ PATH: makePath({ setpriv: 1 }) }, false)).toEqual(['server', '--flag']);
    expect(await guard({ PATH: makePath({}) }, false)).toEqual(['server', '--flag']);
  });

  it('has setpriv tried once, however many start', async () => {
    const path = makePath({});
    const runs = join(path, 'runs');
    writeFileSync(join(path, 'setpriv'), `#!/bin/sh\necho run >> ${runs}\n`, { mode: 0o700 });
    const start = () => guard({ PATH: path }, false);
    await Promise.all([start(), start()]);
    expect(await start()).toContain('setpriv');
    expect(readFileSync(runs, 'utf8')).toBe('run\n');
  });

  it('has no word of its environment in the command of its sandbox, which others can read', async () => {
    const command = await guard({ PATH: makePath({ bwrap: 0, prlimit: 0 }), TOKEN: 'secret' }, true);
    expect(command[0]).toBe('bwrap');
    expect(command.join(' ')).not.toMatch(/TOKEN|secret/);
    expect(command.slice(-2)).toEqual(['server', '--flag']);
  });

  it.each([
    [{}, /^its sandbox needs bwrap and prlimit on the PATH: install the packages bubblewrap and util-linux$/],
    [{ prlimit: 0 }, /^its sandbox needs bwrap on the PATH/],
  ])('is refused without its sandbox, with what to install: %j', async (programs, message) => {
    await expect(guard({ PATH: makePath(programs) }, true)).rejects.toThrow(message);
  });
});

describe('the operator', () => {
  const yaml = (server: object): string =>
    JSON.stringify({ mcp_servers: { files: { command: 'x', ...server } } });
  const told = (server: object, path: string): string[] => {
    const found = checkSettings(readConfig({ PATH: path }, yaml(server)), new AbortController().signal);
    return listOf(found as Parameters<typeof listOf>[0]).flatMap(({ status, message }) =>
      message.includes('mounted') ? `${status}: ${message}` : [],
    );
  };

  it('is told by the start and by doctor of a server without a sandbox', () => {
    const sentence = /^The mounted MCP server files runs without a sandbox: it can read what the gateway can/;
    expect(describeSandbox(programConfig('files'))).toMatch(sentence);
    expect(told({ sandbox: 'none' }, makePath({}))).toEqual([
      expect.stringMatching(/^warning: The mounted MCP server files runs without a sandbox/),
    ]);
  });

  it('is told what a sandbox lacks, and nothing where it lacks nothing', () => {
    expect(told({ sandbox: 'bubblewrap' }, makePath({}))).toEqual([
      expect.stringMatching(/^problem: The mounted MCP server files does not start: its sandbox needs bwrap/),
    ]);
    const path = makePath({ bwrap: 0, prlimit: 0 });
    expect(told({ sandbox: 'bubblewrap' }, path)).toEqual([]);
    expect(describeSandbox(programConfig('files', { sandbox, env: { PATH: path } }))).toBeNull();
  });
});

import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { silentLog } from '../../../src/kit/log.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { hostileProgram, mountYaml } from '../../mounts/mount-yaml.ts';
import { pinOf } from '../../mounts/start-mounts.ts';
import { hasService } from '../../outside-services.ts';
import { runHere, temporaryDataFolder } from '../run-cli.ts';
import { createTestDatabase } from '../test-database.ts';

const document = z.looseObject({
  checks: z.array(
    z.strictObject({
      check: z.string(),
      status: z.string(),
      message: z.string(),
      remedy: z.string().nullable(),
    }),
  ),
});

/** Runs the doctor where these servers are mounted, and returns its lines about them by their names. */
const examine = async (servers: Record<string, object>, env: Record<string, string> = {}) => {
  const folder = env['DATA_DIR'] ?? (await temporaryDataFolder());
  const file = join(folder, 'causeway.yaml');
  await writeFile(file, mountYaml(servers));
  const quiet = { X402_NETWORKS: 'none', PORT: '0', PATH: process.env['PATH'] ?? '' };
  const settings = { ...quiet, DATA_DIR: folder, CAUSEWAY_CONFIG: file, ...env };
  const { stdout } = await runHere(['doctor', '--json'], { env: settings });
  const { checks } = document.parse(JSON.parse(stdout));
  return checks.filter(({ check }) => check === 'mounts');
};

const hostile = { args: [hostileProgram] };
const only = (...allow: string[]) => ({ ...hostile, allow });
const echo = { tool: 'echo', pin: pinOf('echo') };

it.each(['SQLite', ...(hasService('PostgreSQL') ? ['PostgreSQL'] : [])])(
  'the doctor compares the tools of each mounted server with what was accepted, in %s',
  async (engine) => {
    const database = engine === 'PostgreSQL' ? await createTestDatabase() : null;
    onTestFinished(async () => database?.drop());
    const folder = await temporaryDataFolder();
    const env: Record<string, string> = {
      DATA_DIR: folder,
      ...(database === null ? {} : { DATABASE_URL: database.url }),
    };
    const store = await openStore(
      { databaseUrl: database?.url ?? null, dataDir: folder },
      { log: silentLog, inThisThread: true },
    );
    const tools = [echo, { tool: 'fail', pin: 'a'.repeat(64) }, { tool: 'lost', pin: 'b'.repeat(64) }];
    for (const server of ['hostile', 'right'])
      await store.noteMountedTools({
        server,
        tools: tools.map((tool) => ({ ...tool, definition: '{}', problem: null })),
        now: 1,
      });
    await store.close();
    const yaml = join(folder, 'causeway.yaml');
    const servers = { hostile: only('echo', 'fail', 'die', 'long', 'lost'), right: only('echo') };
    await writeFile(yaml, mountYaml(servers));
    for (const server of ['hostile', 'right'])
      await runHere(['tools', 'accept', server], {
        env: { ...env, CAUSEWAY_CONFIG: yaml, PATH: process.env['PATH'] ?? '' },
      });

    expect(await examine(servers, env)).toMatchObject([
      {
        status: 'warning',
        message: expect.stringMatching(
          /hostile is started and lists 4 tools: 1 accepted; 1 changed: fail; 1 new: die; 1 gone: lost; 1 refused: long \(.+\)\.$/,
        ),
        remedy: expect.stringContaining('causeway tools diff hostile'),
      },
      { status: 'warning', message: expect.stringContaining('does not have: lost') },
      { status: 'ok', message: expect.stringMatching(/right is started and lists 1 tool: 1 accepted\.$/) },
    ]);
  },
);

it('a server that does not start or answer is a problem of its own, which says what to do', async () => {
  const found = await examine({
    dead: { args: ['-e', 'process.exit(1)'] },
    silent: { args: ['-e', 'setInterval(() => {}, 1000)'], answer_ms: 300 },
    right: only('echo'),
  });
  expect(found).toMatchObject([
    {
      status: 'problem',
      message: expect.stringContaining('dead cannot be used'),
      remedy: expect.any(String),
    },
    { status: 'problem', message: expect.stringContaining('silent cannot be used') },
    {
      status: 'warning',
      message: expect.stringContaining('right is started and lists 1 tool: 0 accepted; 1 new'),
    },
  ]);
});

it('a server with secrets of accounts is started with those of the operator, and its failure names them', async () => {
  const given = { ...hostile, per_account: ['REFUSES'] };
  const env = { TOOLS_SECRETS_KEY: '0'.repeat(64) };
  expect(await examine({ own: { ...given, allow: ['echo'] } }, env)).toMatchObject([{ status: 'warning' }]);
  const failing = { args: ['-e', 'process.exit(1)'], per_account: ['A_TOKEN'] };
  expect(await examine({ own: failing }, env)).toMatchObject([
    { status: 'problem', remedy: expect.stringContaining('It takes A_TOKEN from each account') },
  ]);
});

it('at most four servers run at once, and all have ended afterwards', async () => {
  const folder = await temporaryDataFolder();
  const file = join(folder, 'runs');
  const script = `const fs = require('node:fs');
    const note = (sign) => fs.appendFileSync(${JSON.stringify(file)}, sign);
    note('+');
    process.stdin.on('end', () => { note('-'); process.exit(); }).resume();`;
  const server = { args: ['-e', script], answer_ms: 2_000 };
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  await examine(Object.fromEntries(names.map((name) => [name, server])));
  let running = 0;
  const counts = readFileSync(file, 'utf8')
    .split('')
    .map((sign) => (running += sign === '+' ? 1 : -1));
  expect(counts).toHaveLength(12);
  expect(Math.max(...counts)).toBeLessThanOrEqual(4);
  expect(running).toBe(0);
});

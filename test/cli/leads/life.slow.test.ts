import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test, vi } from 'vitest';
import { cliArguments } from '../../../scripts/node-arguments.ts';
import { runCommandLine } from '../../../src/cli/run-command-line.ts';
import { temporaryFolder } from '../run-cli.ts';

vi.setConfig({ testTimeout: 300_000 });

/** The commands in a folder of its own. */
const openFolder = async () => {
  const folder = await temporaryFolder();
  return {
    folder,
    dataDir: join(folder, 'data'),
    /** The document that a command prints. */
    answer: async (...args: string[]) => {
      let stdout = '';
      await runCommandLine({
        args: ['leads', ...args, '--json'],
        environment: { DATA_DIR: join(folder, 'data') },
        write: (text) => (stdout += text),
        writeError: () => {},
      });
      return JSON.parse(stdout);
    },
  };
};

const csv = `Handle;Full Name;Followers;Bio;Country
@ann;Ann Lee;1,200;"Coffee;
tea";us
bob;Bob;12k;;US
cy;Cy;900;;United States
dan;Dan;800;Runs;DE
dan;Dan D.;850;Runs;DE
`;

/** For files without what every profile has. */
const plain = ['following=0', 'is_verified=false', 'is_business=false', 'full_name='].flatMap((value) => [
  '--default',
  value,
]);

test('profiles are imported, counted, exported, forgotten, and stay away until they are restored', async () => {
  const { folder, answer } = await openFolder();
  const file = join(folder, 'people.csv.gz');
  await writeFile(file, gzipSync(csv));

  expect((await answer('import', file, ...plain)).error).toMatchObject({ code: 'too_many_rejected' });
  await rm(`${file}.rejected.csv`);
  const { import: first } = await answer('import', file, ...plain, '--max-rejected', '20%');
  expect(first).toMatchObject({ rows: 4, added: 3, updated: 0, repeated: 1, rejected: 1, profiles: 3 });
  expect(first.first_rejected).toEqual([
    { file, line: 4, problem: expect.stringMatching(/^followers is "12k"/) },
  ]);
  expect(await readFile(`${file}.rejected.csv`, 'utf8')).toMatch(/\.gz,4,.*,bob;Bob;12k;;US\r\n/);
  expect((await answer('stats')).stats).toMatchObject({
    profiles: 3,
    synthetic: false,
    forgotten: 0,
  });

  const output = join(folder, 'all.jsonl');
  expect(await answer('export', '--output', output)).toEqual({ file: output, profiles: 3 });
  const exported = (await readFile(output, 'utf8')).trim().split('\n');
  expect(exported.map((line) => JSON.parse(line))).toMatchObject([
    { username: 'ann', followers: 1200, bio: 'Coffee;\ntea', country: 'US' },
    { username: 'cy', country: 'US' },
    { username: 'dan', full_name: 'Dan D.', followers: 850 },
  ]);

  expect(await answer('delete', '@ANN', 'eve')).toEqual({ forgotten: 2, removed: 1 });
  const { import: second } = await answer('import', output, '--replace');
  expect(second).toMatchObject({ rows: 3, added: 0, updated: 2, removed: 0, forgotten: 1, profiles: 2 });
  expect((await answer('stats')).stats).toMatchObject({ profiles: 2, forgotten: 2 });
  expect(await answer('restore', 'ann')).toEqual({ restored: 1, not_forgotten: 0 });
  expect((await answer('import', output)).import).toMatchObject({ added: 1, forgotten: 0, profiles: 3 });
});

test('rows that lack a required field are refused and counted, unless a default is named for it', async () => {
  const { folder, answer } = await openFolder();
  const file = join(folder, 'people.csv');
  const rows = ['ann,Ann,5,1,true,false', 'bob,Bob,4,,true,false', 'cy,,3,1,,', 'dan,Dan,2,1,false,'];
  await writeFile(
    file,
    `username,full_name,followers,following,is_verified,is_business\n${rows.join('\n')}\n`,
  );
  const limit = ['--max-rejected', '3'];
  const { import: refused } = await answer('import', file, ...limit);
  expect(refused).toMatchObject({ rows: 1, rejected: 3, profiles: 1 });
  expect(refused.first_rejected.map(({ problem }: { problem: string }) => problem)).toEqual([
    expect.stringMatching(/^following is missing; .* Set a value for such rows: default following=VALUE\./),
    expect.stringMatching(/^full_name is missing; .*: default full_name=VALUE/),
    expect.stringMatching(/^is_business is missing; .*: default is_business=VALUE/),
  ]);
  const some = ['--default', 'following=7', '--default', 'is_business=true'];
  expect((await answer('import', file, ...some, ...limit)).import).toMatchObject({
    rejected: 1,
    profiles: 3,
  });
  const all = [...some, '--default', 'full_name=', '--default', 'is_verified=no'];
  expect((await answer('import', file, ...all)).import).toMatchObject({ rejected: 0, profiles: 4 });
  const output = join(folder, 'all.jsonl');
  await answer('export', '--output', output);
  const exported = (await readFile(output, 'utf8')).trim().split('\n');
  const facts = { followers: 5, following: 1, is_verified: true, is_business: false };
  expect(exported.map((line) => JSON.parse(line))).toEqual([
    { username: 'ann', full_name: 'Ann', ...facts },
    { username: 'bob', full_name: 'Bob', ...facts, followers: 4, following: 7 },
    { username: 'cy', full_name: '', followers: 3, following: 1, is_verified: false, is_business: true },
    { username: 'dan', full_name: 'Dan', followers: 2, following: 1, is_verified: false, is_business: true },
  ]);
  expect((await answer('import', output, '--replace')).import).toMatchObject({ rejected: 0, profiles: 4 });
});

test('a wrong file changes nothing', async () => {
  const { folder, answer } = await openFolder();
  const file = join(folder, 'people.csv');
  await writeFile(file, 'username,followers\nann,5\n');
  await answer('import', file, ...plain);
  const empty = join(folder, 'empty.csv');
  await writeFile(empty, 'username,followers\n');
  expect((await answer('import', empty, '--replace')).error).toEqual({
    code: 'nothing_imported',
    message: 'The input has no rows. Nothing was changed.',
  });
  await writeFile(empty, 'name,fans\nbob,5\n');
  expect((await answer('import', empty, '--replace')).error).toMatchObject({ code: 'input_failed' });
  expect((await answer('import', join(folder, 'none.csv'))).error).toMatchObject({ code: 'input_failed' });
  expect((await answer('stats')).stats.profiles).toBe(1);
});

const longFile = async (folder: string, rows: number): Promise<string> => {
  const file = join(folder, 'people.csv');
  const lines = Array.from({ length: rows }, (_, index) => `person${index},Person ${index},${index},none`);
  await writeFile(file, `username,full_name,followers,bio\n${lines.join('\n')}\n`);
  return file;
};

test('an import that Ctrl-C stops ends in one line, and changes nothing', async () => {
  const { folder, dataDir, answer } = await openFolder();
  const file = await longFile(folder, 30_000);
  const args = ['leads', 'import', file, ...plain];
  const child = spawn(process.execPath, [...cliArguments, ...args], {
    env: { DATA_DIR: dataDir },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let told = '';
  child.stderr.on('data', (chunk: Buffer) => (told += chunk.toString()));
  const closed = once(child, 'close');
  await vi.waitFor(async () => expect(await readdir(join(dataDir, 'leads'))).toContain('keeper.lock'), {
    timeout: 60_000,
    interval: 1,
  });
  child.kill('SIGINT');
  expect(await closed).toEqual([1, null]);
  expect(told).toBe('causeway: Stopped. Nothing was imported.\n');
  expect((await answer('stats')).stats).toMatchObject({ profiles: 0 });
  expect(await readdir(join(dataDir, 'leads'))).toEqual(['keeper.lock']);
  expect(await answer('import', file, ...plain)).toMatchObject({
    import: { rows: 30_000, added: 30_000, profiles: 30_000 },
  });

  // The first lines are enough for head; nothing is said of the rest.
  const words = `"$0" ${cliArguments.map((word) => `"${word}"`).join(' ')} leads export | head -n 1`;
  const shell = spawn('/bin/bash', ['--norc', '-c', `set -o pipefail; ${words}`, process.execPath], {
    env: { PATH: '/usr/bin:/bin', DATA_DIR: dataDir },
  });
  let [printed, complaint] = ['', ''];
  shell.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  shell.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
  expect(await once(shell, 'close')).toEqual([0, null]);
  expect([JSON.parse(printed).username, complaint]).toEqual(['person29999', '']);
});

test('profiles come over standard input too', async () => {
  const { dataDir, answer } = await openFolder();
  const args = ['leads', 'import', '-', '--format', 'jsonl', '--json', '--max-rejected', '1', ...plain];
  const child = spawn(process.execPath, [...cliArguments, ...args], {
    env: { DATA_DIR: dataDir },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stdin.end('{"username":"ann","followers":5}\n{"username":"bob","followers":4}\nnonsense\n');
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(JSON.parse(stdout)).toMatchObject({
    import: { added: 2, rejected: 1, report: null, first_rejected: [{ file: '-', line: 3 }] },
  });
  expect((await answer('stats')).stats.profiles).toBe(2);
});

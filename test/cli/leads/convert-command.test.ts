import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { runCommandLine, type CommandLine } from '../../../src/cli/run-command-line.ts';
import { buildLead } from '../../leads/build-lead.ts';
import { temporaryFolder } from '../run-cli.ts';

let folder: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  await mkdir(join(folder, 'leads'));
});

const run = async (args: readonly string[], surroundings: Partial<CommandLine> = {}) => {
  const printed = { stdout: '', stderr: '' };
  const exitCode = await runCommandLine({
    args: ['leads', ...args],
    environment: { DATA_DIR: folder },
    write: (text) => (printed.stdout += text),
    writeError: (text) => (printed.stderr += text),
    ...surroundings,
  });
  return { exitCode, ...printed };
};

const linesOf = (text: string): unknown[] =>
  text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));

const file = async (rows: readonly object[]): Promise<string> => {
  const path = join(folder, 'rows.jsonl');
  await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return path;
};

describe('leads convert', () => {
  it('writes for each profile its id, and itself with the terms and filters that searches compare', async () => {
    const lead = buildLead({ username: 'Ann.Lee', full_name: 'Ánn', country: 'UK', category: 'CAFÉ' });
    const { exitCode, stdout, stderr } = await run([
      'convert',
      await file([lead]),
      '--format',
      'bulk',
      '--index',
      'people-2',
    ]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '1 profile.\n' });
    expect(linesOf(stdout)).toEqual([
      { index: { _index: 'people-2', _id: 'ann.lee' } },
      { ...lead, terms: ['ann', 'lee', 'annlee', 'cafe'], country_key: 'GB', category_key: 'café' },
    ]);
  });

  it('reads the formats of imports, and standard input', async () => {
    const rows = 'Handle;Followers\nann;1,200\n';
    const defaults = ['following=0', 'is_verified=no', 'is_business=no', 'full_name='];
    const { stdout } = await run(
      ['convert', '-', '--format', 'bulk', ...defaults.flatMap((one) => ['--default', one])],
      { stdin: () => Readable.from([Buffer.from(rows)]) },
    );
    expect(linesOf(stdout)).toMatchObject([
      { index: { _id: 'ann' } },
      { username: 'ann', followers: 1_200, terms: ['ann'] },
    ]);
  });

  it('leaves out who is forgotten, and keeps the order of rows of one person', async () => {
    await run(['delete', 'BOB']);
    const output = join(folder, 'people.ndjson');
    const rows = ['Ann', 'bob', 'ann'].map((username, place) => buildLead({ username, followers: place }));
    const { stdout } = await run([
      'convert',
      await file(rows),
      '--format',
      'bulk',
      '--output',
      output,
      '--json',
    ]);
    expect(JSON.parse(stdout)).toEqual({ file: output, profiles: 2 });
    expect(linesOf(await readFile(output, 'utf8'))).toMatchObject([
      { index: { _id: 'ann' } },
      { followers: 0 },
      { index: { _id: 'ann' } },
      { followers: 2 },
    ]);
  });

  it('tells of rejected rows, and fails with more than one of a hundred', async () => {
    const good = Array.from({ length: 199 }, (_, place) => buildLead({ username: `u${place}` }));
    const bad = { username: 'bad', followers: '12k' };
    const convert = async (rows: readonly object[]) => run(['convert', await file(rows), '--format', 'bulk']);
    const few = await convert([...good, bad]);
    expect(few.exitCode).toBe(0);
    expect(few.stderr).toMatch(/^1 row was rejected:\n.*rows\.jsonl:200: followers is "12k"/);
    const many = await convert([...good, bad, bad, bad]);
    expect(many.exitCode).toBe(1);
    expect(linesOf(many.stdout)).toHaveLength(2 * 199);
    expect((await convert([])).exitCode).toBe(1);
  });

  it('is refused where there is no data of a gateway, as its list of forgotten people would be missed', async () => {
    const { exitCode, stderr } = await run(['convert', await file([]), '--format', 'bulk'], {
      environment: { DATA_DIR: join(folder, 'elsewhere') },
    });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('There is no data in');
  });
});

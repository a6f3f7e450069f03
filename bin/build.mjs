// Makes the folder build/ from src/: the same files with Node's own type stripping, which keeps lines and columns. Only
// files that changed are made again, so every start can make sure that the build is that of its sources.
import { createHash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listEntries } from './list-entries.mjs';

const folderOf = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const isTypeScript = (path) => path.endsWith('.ts');
const builtName = (path) => (isTypeScript(path) ? `${path.slice(0, -2)}js` : path);
/** In imports, and in the addresses of worker threads. */
const relativeNames = /(['"`])(\.\.?\/[\w./-]+)\.ts\1/g;

/** Bundles, which bin/build-console.mjs makes. */
export const consoleFolder = folderOf('build/console');

/** The ending of a file that some process is writing. */
const partEnding = '.part';

/** Maps each file of a folder to the time of its last change. */
const listFiles = (folder) =>
  new Map(
    listEntries(folder)
      .filter((entry) => entry.isFile() && !entry.name.endsWith(partEnding))
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((path) => [path.slice(folder.length + 1), Math.round(fs.statSync(path).mtimeMs)]),
  );

/** Strips types without Node's warning that its stripper is experimental, which is not the operator's concern. */
const stripTypes = (text) => {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(text);
  } finally {
    process.emitWarning = emitWarning;
  }
};

/** Names what makes the files. Another Node or another version of Causeway may make others of the same sources. */
const madeBy = () => {
  const texts = ['bin/build.mjs', 'package.json'].map((name) => fs.readFileSync(folderOf(name)));
  return createHash('sha256')
    .update([process.version, ...texts].join('\n'))
    .digest('hex');
};
const stampName = '.made-by';

const buildFile = (from, to, changedAt) => {
  fs.mkdirSync(dirname(to), { recursive: true });
  // Another process may be reading the file, or making it too.
  const part = `${to}.${process.pid}${partEnding}`;
  if (isTypeScript(from))
    fs.writeFileSync(part, stripTypes(fs.readFileSync(from, 'utf8')).replaceAll(relativeNames, '$1$2.js$1'));
  else fs.copyFileSync(from, part);
  fs.utimesSync(part, changedAt / 1_000, changedAt / 1_000);
  fs.renameSync(part, to);
};

const buildAll = (source, target) => {
  fs.mkdirSync(target, { recursive: true });
  const stamp = join(target, stampName);
  const maker = madeBy();
  const isOurs = fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === maker;
  const built = listFiles(target);
  built.delete(stampName);
  for (const name of built.keys()) if (/^console[\\/]/.test(name)) built.delete(name);
  for (const [path, changedAt] of listFiles(source)) {
    const name = builtName(path);
    // Times are compared for equality, because a file of another version may be older than the build.
    if (!isOurs || built.get(name) !== changedAt)
      buildFile(join(source, path), join(target, name), changedAt);
    built.delete(name);
  }
  for (const name of built.keys()) fs.rmSync(join(target, name), { force: true });
  if (!isOurs) fs.writeFileSync(stamp, maker);
};

/** Makes what is missing or was made from another version of its source, and removes what has no source any more. */
export const build = (source = folderOf('src'), target = folderOf('build')) => {
  // Whoever may read the sources may read the build, whoever made it.
  const umask = process.umask(0o022);
  try {
    buildAll(source, target);
  } finally {
    process.umask(umask);
  }
};

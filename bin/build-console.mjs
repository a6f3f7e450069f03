// Bundles the console into build/console, under names by content. esbuild is a development package: a checkout without it
// serves everything but the console.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { consoleFolder } from './build.mjs';

const sourceOf = (name) => fileURLToPath(new URL(`../console/${name}`, import.meta.url));

const loadBundler = () =>
  import('esbuild').catch((error) => {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return null;
    throw error;
  });

/** Makes the files anew. Returns false if there is no bundler. */
export const buildConsole = async () => {
  const bundler = await loadBundler();
  if (bundler === null) return false;
  const { outputFiles } = await bundler.build({
    entryPoints: {
      console: sourceOf('main.tsx'),
      pay: sourceOf('pay/main.tsx'),
      style: sourceOf('console.css'),
    },
    outdir: consoleFolder,
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'error',
    write: false,
  });
  // Whoever may read the program may read the pages, whoever made them.
  const umask = process.umask(0o022);
  try {
    mkdirSync(consoleFolder, { recursive: true });
    for (const { path, contents } of outputFiles) writeFileSync(path, contents);
  } finally {
    process.umask(umask);
  }
  const made = new Set(outputFiles.map(({ path }) => basename(path)));
  for (const name of readdirSync(consoleFolder)) if (!made.has(name)) rmSync(join(consoleFolder, name));
  return true;
};

if (process.argv[1] === fileURLToPath(import.meta.url) && !(await buildConsole())) {
  process.stderr.write(
    'The console needs esbuild to be built: run "npm ci" with the development packages.\n',
  );
  process.exitCode = 1;
}

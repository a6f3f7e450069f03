#!/usr/bin/env node
// Like its neighbours, this file must run under Node 14; what it starts needs Node 24.
import { spawn } from 'child_process';
import { constants } from 'os';
import { fileURLToPath, pathToFileURL } from 'url';
import { hasSources } from './has-sources.mjs';
import { findInstalledNode, isSupported, oldNodeMessage } from './supported-node.mjs';

const self = fileURLToPath(import.meta.url);
const words = process.argv.slice(2);

const fail = (message) => {
  process.stderr.write(`${message}\n`);
  process.exit(1);
};

/** Returns the folder to run from: the build, renewed for files that changed, or the sources if it cannot be written. */
const chooseFolder = async () => {
  if (!hasSources()) return 'build';
  try {
    const { build } = await import('./build.mjs');
    build();
    return 'build';
  } catch (error) {
    process.stderr.write(`Causeway runs from its sources, which is slower: ${error.message}\n`);
    return 'src';
  }
};

/** Runs a program of src in this process, as if Node had been started with it. */
const runHere = async (name, args) => {
  await import('./keep-compiled.mjs');
  const folder = await chooseFolder();
  const file = fileURLToPath(
    new URL(`../${folder}/${name}.${folder === 'src' ? 'ts' : 'js'}`, import.meta.url),
  );
  process.argv.splice(1, process.argv.length - 1, file, ...args);
  await import(pathToFileURL(file).href);
};

/**
 * A gateway otherwise keeps the memory of its busiest moment: V8 that of young objects, the allocator that of ended
 * threads and large buffers. Node and glibc read these at the start of a process alone.
 */
const youngGeneration = '--max-semi-space-size';
const memoryEnv = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072', ...process.env };

/** Runs the gateway, in this process as it is replaced by one with the settings of its memory. */
const runGateway = (args) => {
  const options = [...process.execArgv, process.env.NODE_OPTIONS || ''];
  const isSet = options.some((option) => option.includes(youngGeneration));
  if (!isSet && process.platform !== 'win32')
    process.execve(
      process.execPath,
      [process.execPath, ...process.execArgv, `${youngGeneration}=4`, '--', self, ...words],
      memoryEnv,
    );
  return runHere('main', args);
};

const run = () => {
  const [first, ...rest] = words;
  const wantsHelp = rest.includes('--help') || rest.includes('-h');
  if (first === 'start' && !wantsHelp) return runGateway(rest);
  if (first === 'mcp' && !wantsHelp) return runGateway(['--stdio', ...rest]);
  return runHere('cli', words);
};

const forwardedSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'];

/** Runs this same file under another Node and ends as that one ends. */
const runUnder = (node) => {
  // After "--" Node leaves the words alone; it would take --env-file for its own option.
  const child = spawn(node, ['--', self, ...words], {
    stdio: 'inherit',
    env: { ...process.env, CAUSEWAY_LAUNCHED: '1' },
  });
  // A terminal sends Ctrl-C to both processes by itself; that the other one gets it twice does no harm.
  for (const signal of forwardedSignals) process.on(signal, () => child.kill(signal));
  child.on('error', () => fail(oldNodeMessage(process.version)));
  child.on('exit', (code, signal) => {
    process.exit(signal === null ? code : 128 + constants.signals[signal]);
  });
};

if (isSupported(process.version)) {
  void run();
} else {
  const node = findInstalledNode();
  if (node === null) fail(oldNodeMessage(process.version));
  else runUnder(node);
}

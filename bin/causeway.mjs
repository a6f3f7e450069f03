#!/usr/bin/env node
// Like its neighbours, this file must run under Node 14; what it starts needs Node 24.
import { spawn } from 'child_process';
import { constants } from 'os';
import { fileURLToPath, pathToFileURL } from 'url';
import { findInstalledNode, isSupported, oldNodeMessage } from './supported-node.mjs';

const self = fileURLToPath(import.meta.url);
const words = process.argv.slice(2);

const fail = (message) => {
  process.stderr.write(`${message}\n`);
  process.exit(1);
};

/** Runs a file of src in this process, as if Node had been started with it. */
const runHere = async (path, args) => {
  const file = fileURLToPath(new URL(`../src/${path}`, import.meta.url));
  process.argv.splice(1, process.argv.length - 1, file, ...args);
  await import('./keep-compiled.mjs');
  await import(pathToFileURL(file).href);
};

const run = () => {
  const [first, ...rest] = words;
  const wantsHelp = rest.includes('--help') || rest.includes('-h');
  if (first === 'start' && !wantsHelp) return runHere('main.ts', rest);
  if (first === 'mcp' && !wantsHelp) return runHere('main.ts', ['--stdio', ...rest]);
  return runHere('cli.ts', words);
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

if (/[\\/]node_modules[\\/]/.test(self)) {
  fail(
    'Causeway runs from its own checkout: Node does not run TypeScript inside node_modules. Use "npm link".',
  );
} else if (isSupported(process.version)) {
  void run();
} else {
  const node = findInstalledNode();
  if (node === null) fail(oldNodeMessage(process.version));
  else runUnder(node);
}

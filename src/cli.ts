import { runCommandLine } from './cli/run-command-line.ts';

// Whoever reads the output may stop early, as `head` does; that is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

// What is written here is the operator's and the customers' alone.
process.umask(0o077);

process.exitCode = await runCommandLine({
  args: process.argv.slice(2),
  environment: process.env,
  write: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
  writePart: (text) => new Promise((resolve) => process.stdout.write(text, () => resolve())),
});

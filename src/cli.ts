import { CommandError } from './cli/command-error.ts';
import { runCommandLine } from './cli/run-command-line.ts';
import { describeWriteError } from './cli/write-new-file.ts';

// The reader of stdout may stop early, as `head` does; that is no error.
const isFault = ({ code }: NodeJS.ErrnoException): boolean => code !== 'EPIPE';
const stdoutFailed = (error: NodeJS.ErrnoException): CommandError =>
  new CommandError('file_failed', `The output cannot be written: ${describeWriteError(error)}.`);

let isStdoutBroken = false;
let isReaderGone = false;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  isReaderGone ||= !isFault(error);
  if (!isFault(error) || isStdoutBroken) return;
  isStdoutBroken = true;
  process.exitCode = 1;
  process.stderr.write(`causeway: ${stdoutFailed(error).message}\n`);
});

// New files have data of the operator and the customers, so only this user may read them.
process.umask(0o077);

const exitCode = await runCommandLine({
  args: process.argv.slice(2),
  environment: process.env,
  write: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
  isReaderGone: () => isReaderGone,
  isErrorTerminal: process.stderr.isTTY,
  stdin: () => process.stdin,
  writePart: (text) =>
    new Promise((resolve, reject) =>
      process.stdout.write(text, (error) => {
        if (!error || !isFault(error)) return resolve();
        isStdoutBroken = true;
        reject(stdoutFailed(error));
      }),
    ),
});
process.exitCode = exitCode === 0 && isStdoutBroken ? 1 : exitCode;

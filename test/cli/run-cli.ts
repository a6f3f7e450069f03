import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { cliArguments } from '../../scripts/node-arguments.ts';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { approveAccount, createAccount, getAccount, listAccounts } from '../../src/operator/accounts.ts';
import { limitConnection, listConnections } from '../../src/operator/connections.ts';
import { changeKey, issueKey, listKeys } from '../../src/operator/keys.ts';
import { checkLedger, creditAccount, refundJob } from '../../src/operator/money.ts';
import { embeddedStoreFile } from '../../src/store/open-store.ts';
import { layStore } from '../data-template.ts';

export interface Ended {
  exitCode: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  /** Settings beside PATH; nothing of the test's own environment gets through. */
  env?: Record<string, string>;
  cwd?: string;
}

const commandTimeoutMs = 120_000;

/** Where the repository is. */
export const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Runs Node on these words in a process of its own, and resolves when it has ended. */
export const runNode = (args: readonly string[], { env = {}, cwd }: RunOptions = {}): Promise<Ended> =>
  new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      args,
      {
        cwd,
        env: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, ...env },
        timeout: commandTimeoutMs,
        killSignal: 'SIGKILL',
      },
      (error, stdout, stderr) => {
        if (error !== null && typeof error.code !== 'number') reject(error);
        else resolve({ exitCode: Number(error?.code ?? 0), stdout, stderr });
      },
    );
  });

/** Runs `causeway <args>` as `npm run cli` does. */
export const runCli = (args: readonly string[], options?: RunOptions): Promise<Ended> =>
  runNode([...cliArguments, ...args], options);

/** Runs `causeway <args>` in this process, which takes a fraction of the time of one of its own. */
export const runHere = async (
  args: readonly string[],
  { env = {} }: Pick<RunOptions, 'env'> = {},
): Promise<Ended> => {
  const printed = { stdout: '', stderr: '' };
  const exitCode = await runCommandLine({
    args,
    environment: env,
    write: (text) => void (printed.stdout += text),
    writeError: (text) => void (printed.stderr += text),
  });
  return { exitCode, ...printed };
};

/** A folder that goes with the test. */
export const temporaryFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-cli-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

/** A data folder with an empty store, which goes with the test. */
export const temporaryDataFolder = async (): Promise<string> => {
  const folder = await temporaryFolder();
  layStore(embeddedStoreFile(folder));
  return folder;
};

export interface OperatorOptions {
  /** Precedes the words of every command, such as `payments`. */
  subject?: string;
  /** `runCli` where a command must be a process of its own. */
  runCommand?: typeof runHere;
}

/** The operator's commands on one store. `answer` reads the document of a command that succeeds. */
export const operatorOf = (
  env: Record<string, string>,
  { subject, runCommand = runHere }: OperatorOptions = {},
) => {
  const print = (...args: string[]): Promise<Ended> =>
    runCommand(subject === undefined ? args : [subject, ...args], { env });
  return {
    print,
    answer: async <T>(schema: z.ZodType<T>, ...args: string[]): Promise<T> => {
      const { exitCode, stdout, stderr } = await print(...args, '--json');
      if (exitCode !== 0) throw new Error(`${args.join(' ')}: ${stdout}${stderr}`);
      return schema.parse(JSON.parse(stdout));
    },
    /** The exit code and error of a command that is refused. */
    refusal: async (...args: string[]): Promise<{ exitCode: number; code: string; message: string }> => {
      const { exitCode, stdout } = await print(...args, '--json');
      return { exitCode, ...errorDocument.parse(JSON.parse(stdout)).error };
    },
  };
};

/** The documents that the commands print with --json. */
export const documents = {
  account: createAccount.output,
  shownAccount: getAccount.output,
  accountChange: approveAccount.output,
  accounts: listAccounts.output,
  issuedKey: issueKey.output,
  apiKey: changeKey.output,
  apiKeys: listKeys.output,
  connection: limitConnection.output,
  connections: listConnections.output,
  posted: creditAccount.output,
  refunded: refundJob.output,
  ledger: checkLedger.output,
};

const errorDocument = z.strictObject({
  error: z.strictObject({ code: z.string(), message: z.string().regex(/^[^\n]+$/) }),
});

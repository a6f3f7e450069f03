import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { cliArguments } from '../../scripts/node-arguments.ts';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
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

const money = z.string().regex(/^-?\d+\.\d{2,9}$/);

const accountView = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  status: z.enum(['pending', 'active', 'suspended']),
  sandbox: z.boolean(),
  wallet: z.string().nullable(),
  balance_usd: money,
  held_usd: money,
  ledger_usd: money,
  created_at: z.iso.datetime(),
});

const apiKeyView = z.strictObject({
  id: z.uuid(),
  account_id: z.uuid(),
  display: z.string(),
  object: z.literal('key'),
  label: z.string(),
  created_by: z.string().nullable(),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
  revoked_at: z.iso.datetime().nullable(),
  models: z.array(z.string()).nullable(),
  budget_day_usd: money.nullable(),
  budget_month_usd: money.nullable(),
  alert_url: z.url().nullable(),
  day_spent_usd: money.nullable(),
  day_held_usd: money.nullable(),
  month_spent_usd: money.nullable(),
  month_held_usd: money.nullable(),
});

const entryView = z.strictObject({
  id: z.uuid(),
  account_id: z.uuid(),
  type: z.enum(['topup', 'adjustment', 'refund']),
  amount_usd: money,
  job_id: z.uuid().nullable(),
  reason: z.string(),
  created_at: z.iso.datetime(),
});

/** The documents that the commands print with --json. */
export const documents = {
  account: z.strictObject({ account: accountView }),
  accountChange: z.strictObject({ account: accountView, changed: z.boolean() }),
  accounts: z.strictObject({ accounts: z.array(accountView), has_more: z.boolean() }),
  issuedKey: z.strictObject({ key: z.string().regex(/^sk_[a-z]+_[0-9A-Za-z]{43}$/), api_key: apiKeyView }),
  apiKey: z.strictObject({ api_key: apiKeyView }),
  apiKeys: z.strictObject({ api_keys: z.array(apiKeyView), has_more: z.boolean() }),
  posted: z.strictObject({ entry: entryView, balance_usd: money }),
  refunded: z.strictObject({ entry: entryView, refunded_usd: money, balance_usd: money }),
  ledger: z.strictObject({
    ok: z.boolean(),
    accounts: z.int(),
    entries: z.int(),
    open_holds: z.int(),
    owed_jobs: z.int(),
    owed_usd: money,
    debts: z.array(z.string()),
    problems: z.array(z.string()),
  }),
};

const errorDocument = z.strictObject({
  error: z.strictObject({ code: z.string(), message: z.string().regex(/^[^\n]+$/) }),
});

import type { Command } from 'commander';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { StoreError } from '../../src/store/store-error.ts';
import { toCommandError } from '../../src/cli/command-error.ts';
import { createProgram } from '../../src/cli/program.ts';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { documents, operatorOf, runCli, temporaryFolder } from './run-cli.ts';

vi.setConfig({ testTimeout: 300_000 });

const ignore = () => {};

/** The commands as they are defined, with nothing behind them. */
const bareProgram = (): Command =>
  createProgram(() => Promise.resolve(), { write: ignore, writeError: ignore });

/** The words of every command, `[]` being the program itself. */
const allCommands = (): string[][] => {
  const below = (command: Command, words: string[]): string[][] => [
    words,
    ...command.commands.flatMap((child) => below(child, [...words, child.name()])),
  ];
  return below(bareProgram(), []);
};

/** Runs a command in this process and answers what it printed. */
const print = async (args: string[], environment: Record<string, string> = {}) => {
  let stdout = '';
  const exitCode = await runCommandLine({
    args,
    environment,
    write: (text) => (stdout += text),
    writeError: ignore,
  });
  return { exitCode, stdout };
};

/** The words of an example; quotes keep words together, a pipe ends it. */
const wordsOf = (example: string): string[] =>
  [...(example.split(' | ')[0] ?? '').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, quoted, literal, plain]) => quoted ?? literal ?? plain ?? '',
  );

describe('the help', () => {
  test.each(allCommands().map((words) => [words.join(' ') || 'causeway', words]))(
    'of "%s" ends with 0 and shows an example',
    async (_, words) => {
      const { exitCode, stdout } = await print([...words, '--help']);
      expect(exitCode).toBe(0);
      expect(stdout).toMatch(/^Usage: causeway/);
      expect(stdout).toMatch(/\nExamples:\n {2}\$ .*causeway/);
    },
  );

  test('gives examples that are right as they stand', async () => {
    const examples: string[] = [];
    for (const words of allCommands().filter(([first]) => first !== 'start' && first !== 'mcp')) {
      const { stdout } = await print([...words, '--help']);
      examples.push(...[...stdout.matchAll(/^ {2}\$ causeway (.*)$/gm)].map(([, example = '']) => example));
    }
    expect(examples.length).toBeGreaterThan(20);
    const readings = await Promise.all(
      examples.map((example) =>
        bareProgram()
          .parseAsync(wordsOf(example), { from: 'user' })
          .then(
            () => 'right',
            (error: unknown) => `${example}: ${String(error)}`,
          ),
      ),
    );
    expect(new Set(readings)).toEqual(new Set(['right']));
  });

  test('and the version are printed by the process itself', async () => {
    expect(await runCli(['help', 'adjust'])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('-5.00'),
    });
    expect(await runCli(['--version'])).toEqual({
      exitCode: 0,
      stdout: `${packageJson.version}\n`,
      stderr: '',
    });
  });
});

describe('a wrong command', () => {
  test.each([
    { args: ['acounts', 'list'], says: /unknown command 'acounts'.*accounts/i },
    { args: ['accounts', 'create'], says: /'--name <name>' not specified/ },
    { args: ['accounts', 'create', '--name', ' '], says: /must not be empty/ },
    { args: ['accounts', 'create', '--name', 'two\nlines'], says: /one line/ },
    { args: ['accounts', 'list', '--limit', '0'], says: /from 1 to/ },
    { args: ['accounts', 'approve'], says: /missing required argument 'account'/i },
    { args: ['keys', 'revoke', 'a', 'b'], says: /too many arguments/i },
    { args: ['credit', 'a', '5'], says: /'--reason <text>' not specified/ },
    { args: ['adjust', 'a', '-5', '--reason', ''], says: /must not be empty/ },
    { args: ['credit', 'a', '5,00', '--reason', 'x'], says: /such as 12\.50/ },
    { args: ['credit', 'a', '-5', '--reason', 'x'], says: /above zero/ },
    { args: ['credit', 'a', '0', '--reason', 'x'], says: /above zero/ },
    { args: ['credit', 'a', '10000000.01', '--reason', 'x'], says: /at most 10000000\.00 USD/ },
    { args: ['adjust', 'a', '-5,00', '--reason', 'x'], says: /"-5,00" is not an amount.*-12\.50/ },
    { args: ['adjust', 'a', '-$5', '--reason', 'x'], says: /"-\$5" is not an amount/ },
    { args: ['adjust', 'a', '-0.00', '--reason', 'x'], says: /zero: that changes nothing/ },
    { args: ['credit', 'a', '5', '--reason', 'x', '--entry-id', '7'], says: /UUID/ },
    { args: ['--env-file', 'x', 'start'], says: /"causeway start".*options after it/ },
    { args: ['accounts', 'list', '--data-dir', ''], says: /must not be empty/ },
  ])('$args ends with 2 and says what is expected', async ({ args, says }) => {
    const { exitCode, stdout } = await print([...args, '--json'], { DATA_DIR: '/nowhere' });
    const { error } = JSON.parse(stdout);
    expect(exitCode).toBe(2);
    expect(error.code).toBe('invalid_usage');
    expect(error.message).toMatch(says);
  });

  test('is told in one line on stderr, and nothing on stdout', async () => {
    const { exitCode, stdout, stderr } = await runCli(['credit', 'a', '1e3', '--reason', 'x']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toBe(
      `causeway: '1e3' is invalid for argument 'amount'. It must be US dollars with a point and at most nine decimals, such as 12.50.\n`,
    );
  });

  test('group without a command gets its help on stderr', async () => {
    const { exitCode, stdout, stderr } = await runCli(['accounts']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('Usage: causeway accounts');
  });
});

describe('the settings', () => {
  test('are read as the gateway reads them, and a wrong one is named', async () => {
    expect(await operatorOf({ DATABASE_URL: 'mysql://x' }).refusal('accounts', 'list')).toEqual({
      exitCode: 2,
      code: 'invalid_setting',
      message: 'DATABASE_URL: must be a postgres:// URL',
    });
  });

  test('that a command does not need may be wrong', async () => {
    const dataDir = await temporaryFolder();
    const operator = operatorOf({ DATA_DIR: dataDir, PORT: 'wrong' });
    const { account } = await operator.answer(documents.account, 'accounts', 'create', '--name', 'Acme');
    expect(account.name).toBe('Acme');
  });

  test('that are misspelt by one letter are refused, as far as the command reads them', async () => {
    const { refusal } = operatorOf({ DATBASE_URL: 'postgres://127.0.0.1/causeway' });
    expect(await refusal('accounts', 'list')).toEqual({
      exitCode: 2,
      code: 'invalid_setting',
      message: expect.stringMatching(/^DATBASE_URL: there is no such setting; rename it to DATABASE_URL/),
    });
    const other = operatorOf({ DATA_DIR: await temporaryFolder(), REDIS_ULR: 'redis://127.0.0.1' });
    const { account } = await other.answer(documents.account, 'accounts', 'create', '--name', 'Acme');
    expect(account.name).toBe('Acme');
  });

  test('come from --env-file too, and the environment wins over it', async () => {
    const folder = await temporaryFolder();
    const envFile = join(folder, 'settings');
    await writeFile(envFile, `DATA_DIR=${join(folder, 'from-file')}\nBRAND=acme\n`);
    const create = ['accounts', 'create', '--name', 'Acme', '--approved', '--env-file', envFile];
    const { account } = await operatorOf({}).answer(documents.account, ...create);
    const issue = ['keys', 'issue', account.id, '--env-file', envFile];
    const { key } = await operatorOf({}).answer(documents.issuedKey, ...issue);
    expect(key).toMatch(/^sk_acme_/);
    const elsewhere = { DATA_DIR: join(folder, 'from-environment') };
    expect(await operatorOf(elsewhere).refusal(...issue)).toMatchObject({ code: 'no_data' });
  });

  test('name a folder that this user cannot read, which is not taken for empty', async () => {
    const folder = await temporaryFolder();
    await symlink('loop', join(folder, 'loop'));
    expect(await operatorOf({ DATA_DIR: join(folder, 'loop') }).refusal('accounts', 'list')).toEqual({
      exitCode: 1,
      code: 'file_failed',
      message: expect.stringMatching(
        /loop\/causeway\.db cannot be read by the user .* as the user of the gateway/,
      ),
    });
  });

  test('name a file that is not there: exit code 2', async () => {
    expect(await operatorOf({}).refusal('accounts', 'list', '--env-file', '/nowhere/settings')).toEqual({
      exitCode: 2,
      code: 'invalid_setting',
      message: '--env-file: /nowhere/settings cannot be read',
    });
  });

  test('leave no doubt which store is meant', async () => {
    const { exitCode, stdout } = await print(['accounts', 'list', '--json', '--data-dir', '/nowhere'], {
      DATABASE_URL: 'postgres://127.0.0.1/test',
    });
    expect(exitCode).toBe(2);
    expect(JSON.parse(stdout).error.message).toMatch(/^DATABASE_URL: .*--data-dir/);
  });

  test.each([
    ['overloaded', false],
    ['closed', false],
    ['full', false],
    ['crashed', true],
    ['timeout', true],
    ['unavailable', true],
    ['failed', true],
  ] as const)(
    'say of a store that failed (%s) whether the change may have been made: %s',
    (reason, isOpen) => {
      const { code, message } = toCommandError(new StoreError(reason, 'no answer'));
      expect([code, message.includes('look before you repeat it')]).toEqual(['store_failed', isOpen]);
      expect(message).toContain('no answer');
    },
  );

  test('name a file that is no database: the store failed, in one line', async () => {
    const dataDir = await temporaryFolder();
    await writeFile(
      join(dataDir, 'causeway.db'),
      'not a database, but long enough to be read as one'.repeat(100),
    );
    expect(await operatorOf({ DATA_DIR: dataDir }).refusal('accounts', 'list')).toMatchObject({
      exitCode: 1,
      code: 'store_failed',
      message: expect.stringContaining('file is not a database'),
    });
  });
});

import { Command, InvalidArgumentError } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import type { SettingOptions } from '../config/load-config.ts';
import { settingsHelp } from '../config/settings-help.ts';
import { accountCommands } from './accounts/commands.ts';
import { keyCommands } from './accounts/key-commands.ts';
import { moneyCommands } from './accounts/money-commands.ts';
import { addBackupCommand } from './backup-command.ts';
import type { CommandContext } from './command-context.ts';
import { addCommands } from './command-definition.ts';
import { CommandError } from './command-error.ts';
import { addExamples, exampleAccount } from './examples.ts';
import { addDoctorCommand } from './doctor/doctor-command.ts';
import { leadCommands } from './leads/commands.ts';
import { auditCommands } from './operator/audit-commands.ts';
import { operatorKeyCommands } from './operator/key-commands.ts';
import { paymentCommands } from './payments/commands.ts';
import { addSettingsCommand } from './settings-command.ts';
import { webhookCommands } from './webhooks/commands.ts';

export type GlobalOptions = SettingOptions & { json?: true };

const description = [
  'Runs Causeway and keeps its accounts, keys and money.',
  'The commands work on the data of the gateway, also while it runs: on PostgreSQL if DATABASE_URL is set, else on the ' +
    'embedded store in DATA_DIR (./data in the current folder).',
  'Run it as "npx @causeway/gateway <command>" in the folder where its package is installed, and as "npm run --silent cli -- <command>" in a checkout.',
].join('\n\n');

const exitCodes = `
Exit codes: 0 done; 1 refused or failed; 2 a wrong command or setting.`;

/** Creates all commands with their help texts. The program throws CommanderError instead of ending the process. */
export const createProgram = (
  context: CommandContext,
  output: { write: (text: string) => void; writeError: (text: string) => void },
): Command => {
  const program = new Command('causeway')
    .description(description)
    .option('--json', 'print one JSON document to stdout, also for an error')
    .option('--data-dir <folder>', 'folder of the embedded store (default: DATA_DIR, or ./data)', readPath)
    .option('--env-file <file>', 'read settings from this file too; the environment wins', readPath)
    .version(packageJson.version, '--version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: output.write, writeErr: output.writeError, outputError: () => {} })
    .exitOverride();
  addLauncherCommands(program);
  addCommands(
    program,
    [
      accountCommands,
      keyCommands,
      ...moneyCommands,
      paymentCommands,
      webhookCommands,
      leadCommands,
      operatorKeyCommands,
      auditCommands,
    ],
    context,
  );
  addBackupCommand(program, context);
  addDoctorCommand(program, context);
  addSettingsCommand(program, context);
  addExamples(program, [
    'causeway accounts create --name "Acme Ltd" --approved',
    `causeway credit ${exampleAccount} 25 --reason "Invoice 2041"`,
    `causeway keys issue ${exampleAccount} --label production`,
    'causeway ledger check --json',
    'causeway doctor',
  ]);
  return program.addHelpText('after', exitCodes);
};

const readPath = (text: string): string => {
  if (text === '') throw new InvalidArgumentError('It must not be empty.');
  return text;
};

/** Adds `start` and `mcp` for their help texts. bin/causeway.mjs runs them, so that the gateway does not load this file. */
const addLauncherCommands = (program: Command): void => {
  const start = program
    .command('start')
    .configureHelp({ showGlobalOptions: false })
    .summary('run the gateway: MCP and REST over HTTP')
    .description(
      'Runs the gateway until Ctrl-C or SIGTERM. Environment variables (--env-file <file> reads them from a file) and ' +
        'causeway.yaml configure it; without them it serves the sandbox on http://127.0.0.1:8402.',
    )
    .action(refuse('causeway start" or "npm start'));
  addExamples(start, [
    'causeway start',
    'PORT=8080 DATA_DIR=/var/lib/causeway causeway start --env-file .env',
  ]);
  start.addHelpText('after', () => `\nSettings:\n\n${settingsHelp()}`);
  const mcp = program
    .command('mcp')
    .configureHelp({ showGlobalOptions: false })
    .summary('run the gateway and serve MCP over stdin and stdout too')
    .description(
      'Runs the gateway and also serves its MCP tools over stdin and stdout, for local assistants. The assistant uses ' +
        'the account of the key in CAUSEWAY_API_KEY. Without that key, on a data folder of its own with sandbox models, ' +
        'it uses the first account.',
    )
    .action(refuse('causeway mcp'));
  addExamples(mcp, ['causeway mcp', 'causeway mcp --env-file .env']);
};

const refuse = (command: string) => (): void => {
  throw new CommandError('invalid_usage', `Run "${command}" alone; it is no operator's command.`);
};

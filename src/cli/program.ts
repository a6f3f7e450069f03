import { Command, InvalidArgumentError } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { addAccountCommands } from './accounts/commands.ts';
import { addBackupCommand } from './backup-command.ts';
import type { SettingOptions } from '../config/load-config.ts';
import type { CommandContext } from './command-context.ts';
import { addExamples, exampleAccount } from './examples.ts';
import { addKeyCommands } from './accounts/key-commands.ts';
import { addLauncherCommands } from './launcher-commands.ts';
import { addLeadCommands } from './leads/commands.ts';
import { addLedgerCommands } from './accounts/ledger-commands.ts';
import { addMoneyCommands } from './accounts/money-commands.ts';
import { addPaymentCommands } from './payments/commands.ts';
import { addWebhookCommands } from './webhooks/commands.ts';

export type GlobalOptions = SettingOptions & { json?: true };

const description = [
  'Runs Causeway and keeps its accounts, keys and money.',
  'The commands work on the data that the gateway uses, also while it runs: on PostgreSQL where DATABASE_URL is set, ' +
    'else on the embedded store in DATA_DIR (./data, seen from the current folder).',
  'Inside the checkout, "npm run --silent cli -- <command>" is the same as "causeway <command>".',
].join('\n\n');

const exitCodes = `
Exit codes: 0 done; 1 refused or failed; 2 a wrong command or setting.`;

/** All commands, with their help texts. It throws commander's CommanderError instead of ending the process. */
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
  addAccountCommands(program, context);
  addKeyCommands(program, context);
  addMoneyCommands(program, context);
  addLedgerCommands(program, context);
  addPaymentCommands(program, context);
  addWebhookCommands(program, context);
  addLeadCommands(program, context);
  addBackupCommand(program, context);
  addExamples(program, [
    'causeway accounts create --name "Acme Ltd" --approved',
    `causeway credit ${exampleAccount} 25 --reason "Invoice 2041"`,
    `causeway keys issue ${exampleAccount} --label production`,
    'causeway ledger check --json',
  ]);
  return program.addHelpText('after', exitCodes);
};

const readPath = (text: string): string => {
  if (text === '') throw new InvalidArgumentError('It must not be empty.');
  return text;
};

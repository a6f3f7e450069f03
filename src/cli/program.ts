import { Command, InvalidArgumentError } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import type { SettingOptions } from '../config/load-config.ts';
import { settingsHelp } from '../config/variables.ts';
import { exampleAccountId } from '../operator/fields.ts';
import { getSettings } from '../operator/gateway.ts';
import { reloadCommand } from './reload-command.ts';
import { operatorKeyVerbs } from '../operator/operators.ts';
import { commandGroups, verbs } from '../operator/verbs.ts';
import { formatTable } from '../operator/format-table.ts';
import { backupCommand } from './backup-command.ts';
import { addCommands, addExamples, type RunCommand } from './command.ts';
import { CommandError } from './command-error.ts';
import { doctorCommand } from './doctor/doctor-command.ts';
import { convertCommand, exportCommand as exportProfiles } from './leads/export-commands.ts';
import { importCommand } from './leads/import-command.ts';
import { deleteCommand, restoreCommand, statsCommand } from './leads/people-commands.ts';
import { commandsOf, toCommand } from './form-command.ts';
import { exportCommand, reconcileCommand, refundCommand } from './payment-commands.ts';
import { termsCommands } from './terms-commands.ts';

export type GlobalOptions = SettingOptions & { json?: true };

const description = [
  'Runs Causeway and keeps its accounts, keys and money.',
  'The commands work on the data of the gateway, also while it runs: on PostgreSQL if DATABASE_URL is set, else on the ' +
    'embedded store in DATA_DIR (./data in the current folder).',
  'Run it as "npx @causeway/gateway <command>" in the folder where its package is installed, and as "npm run --silent cli -- <command>" in a checkout.',
].join('\n\n');

const exitCodes = `
Exit codes: 0 done; 1 refused or failed; 2 a wrong command or setting.`;

const groups = [
  ...commandGroups,
  {
    words: 'accounts terms',
    summary: 'show, set and clear the terms of one account: its enabled SKUs, its own prices and limits',
    more: 'The settings of the gateway hold for everything that its terms leave out.',
  },
  { words: 'ledger', summary: 'prove that the books are right' },
  { words: 'operator-keys', summary: "issue, revoke and list keys for the operator's API" },
];

const settingsCommand = toCommand({
  usage: 'settings',
  title: 'Show all settings, without secrets',
  description:
    'Shows the settings that a gateway would start with here, where each was set, and causeway.yaml. Secrets are ' +
    'hidden; of an address that may hold one, only its scheme and host are shown. A running gateway tells its own ' +
    `settings at ${getSettings.rest.path}.`,
  examples: [`--json | jq -r '.settings[] | select(.source != "default")'`],
  run: async ({ config }) => {
    const described = await (await config()).describe();
    const { stringify } = await import('yaml');
    const table = formatTable('name value source=SET_BY', described.settings);
    const { file } = described;
    const text = file === null ? table : `${table}\n\ncauseway.yaml:\n${stringify(file).trimEnd()}`;
    return { json: described, text };
  },
});

const commands = [
  ...verbs.flatMap(commandsOf),
  ...[...termsCommands, exportCommand, reconcileCommand, refundCommand],
  ...[importCommand, statsCommand, exportProfiles, convertCommand, deleteCommand, restoreCommand],
  ...operatorKeyVerbs.flatMap(commandsOf),
  ...[backupCommand, doctorCommand, settingsCommand, reloadCommand],
];

/** Creates all commands with their help texts. The program throws CommanderError instead of ending the process. */
export const createProgram = (
  runCommand: RunCommand,
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
  addCommands(program, { groups, commands }, runCommand);
  addExamples(program, [
    'causeway accounts create --name "Acme Ltd" --approved',
    `causeway credit ${exampleAccountId} 25 --reason "Invoice 2041"`,
    `causeway keys issue ${exampleAccountId} --label production`,
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
  throw new CommandError(
    'invalid_usage',
    `Begin with "${command}", with its options after it; it is no operator's command.`,
  );
};

import type { Command } from 'commander';
import { settingsHelp } from '../config/settings-help.ts';
import { CommandError } from './command-error.ts';
import { addExamples } from './examples.ts';

/**
 * Adds `start` and `mcp` for the sake of the help texts: bin/causeway.mjs runs them itself, so that the gateway
 * does not load the operator's commands.
 */
export const addLauncherCommands = (program: Command): void => {
  const start = program
    .command('start')
    .configureHelp({ showGlobalOptions: false })
    .summary('run the gateway: MCP and REST over HTTP')
    .description(
      'Runs the gateway until it is told to stop (Ctrl-C or SIGTERM). It is told what to do by environment variables ' +
        '(--env-file <file> reads them from a file) and causeway.yaml; with nothing set it serves the sandbox on ' +
        'http://127.0.0.1:8402.',
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
      'Runs the gateway and serves its MCP tools over stdin and stdout too, as local assistants start their servers. ' +
        'The assistant acts for the account of the key in CAUSEWAY_API_KEY; without it, on a folder of its own with ' +
        'sandbox models, for the first account.',
    )
    .action(refuse('causeway mcp'));
  addExamples(mcp, ['causeway mcp', 'causeway mcp --env-file .env']);
};

const refuse = (command: string) => (): void => {
  throw new CommandError(
    'invalid_usage',
    `This is not one of the operator's commands: run "${command}" alone.`,
  );
};

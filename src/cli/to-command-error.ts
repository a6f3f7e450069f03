import { CommanderError } from 'commander';
import { ConfigError } from '../kit/errors.ts';
import { LeadInputError } from '../leads/import/lead-input-error.ts';
import { LeadKeeperError, type LeadKeeperProblem } from '../leads/lead-keeper.ts';
import { StoreError, type StoreFailure } from '../store/store-error.ts';
import { CommandError, type CommandErrorCode } from './command-error.ts';
import { signedForm } from './read-amount.ts';

/** Whether commander ended only because it had shown what was asked for: a help text, the version. */
export const helpWasShown = (thrown: unknown): boolean =>
  thrown instanceof CommanderError && thrown.exitCode === 0;

/** Anything thrown while a command ran, as one line with an exit code. An `internal_error` keeps its cause. */
export const toCommandError = (thrown: unknown): CommandError => {
  if (thrown instanceof CommandError) return thrown;
  if (thrown instanceof CommanderError) return new CommandError('invalid_usage', usageMessage(thrown));
  if (thrown instanceof ConfigError) return new CommandError('invalid_setting', thrown.message);
  if (thrown instanceof StoreError)
    return new CommandError('store_failed', storeMessage(thrown), { cause: thrown });
  // What an input says is the reason, whatever its import made of it.
  if (thrown instanceof LeadKeeperError && isOfInput(thrown.cause)) return toCommandError(thrown.cause);
  if (thrown instanceof LeadKeeperError)
    return new CommandError(leadProblemCodes[thrown.problem], thrown.message, { cause: thrown });
  if (thrown instanceof LeadInputError)
    return new CommandError('input_failed', thrown.message, { cause: thrown });
  return new CommandError(
    'internal_error',
    'This is a fault in Causeway itself; what it was stands on stderr.',
    {
      cause: thrown,
    },
  );
};

const isOfInput = (cause: unknown): boolean =>
  cause instanceof CommandError || cause instanceof LeadInputError;

const leadProblemCodes = {
  busy: 'leads_busy',
  damaged: 'leads_damaged',
  failed: 'leads_failed',
} as const satisfies Record<LeadKeeperProblem, CommandErrorCode>;

const usageMessage = ({ code, message }: CommanderError): string => {
  if (code === 'commander.help') return 'A command is missing; --help lists them.';
  const amount = /unknown option '(-[$€£]?[\d.,].*)'/.exec(message)?.[1];
  if (amount !== undefined) return `${JSON.stringify(amount)} is not an amount. ${signedForm}`;
  const line = message.replace(/^error: (?:command-argument value )?/, '').replace(/\s*\n\s*/g, ' ');
  const sentence = `${line.charAt(0).toUpperCase()}${line.slice(1)}`.replace(/(?<![.)])$/, '.');
  // The reader of an argument has said what it expects.
  return code === 'commander.invalidArgument'
    ? sentence
    : `${sentence} Add --help to see how the command is written.`;
};

/** Reasons after which nothing was changed. */
const changedNothing: readonly StoreFailure[] = ['overloaded', 'closed', 'full'];

const storeMessage = ({ reason, message }: StoreError): string =>
  changedNothing.includes(reason)
    ? `The store failed: ${message}`
    : `The store failed, and whether a change was made is not known; look before you repeat it: ${message}`;

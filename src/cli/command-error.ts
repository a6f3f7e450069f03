import { CommanderError } from 'commander';
import { AppError, ConfigError, KnownFault, type ErrorCode } from '../kit/errors.ts';
import { LeadIndexError } from '../leads/lead-index.ts';
import { StoreError, type StoreFailure } from '../store/store-error.ts';

/** The codes of commands alone, with their exit codes. All others are those of operations (kit/errors.ts), with 1. */
const exitCodes = {
  invalid_usage: 2,
  /** An environment variable, --data-dir or --env-file is wrong. */
  invalid_setting: 2,
  invalid_terms: 2,
  /** The data folder has no data of a gateway. */
  no_data: 1,
  file_exists: 1,
  file_failed: 1,
  stopped: 1,
  store_failed: 1,
  internal_error: 1,
} as const;

type CommandErrorCode = keyof typeof exitCodes | ErrorCode;

/** The reason why a command failed: a stable code, one line for the operator, and the exit code of the code. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly code: CommandErrorCode;
  readonly exitCode: number;

  constructor(code: CommandErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.exitCode = code in exitCodes ? exitCodes[code as keyof typeof exitCodes] : 1;
  }
}

/** Tells whether commander ended only because it showed a help text or the version. */
export const isHelpShown = (thrown: unknown): boolean =>
  thrown instanceof CommanderError && thrown.exitCode === 0;

/** Converts anything thrown by a command. An `internal_error` keeps its cause. */
export const toCommandError = (thrown: unknown): CommandError => {
  if (thrown instanceof CommandError) return thrown;
  const toError = (code: CommandError['code'], message: string): CommandError =>
    new CommandError(code, message, { cause: thrown });
  if (thrown instanceof CommanderError) return toError('invalid_usage', usageMessage(thrown));
  if (thrown instanceof ConfigError) return toError('invalid_setting', thrown.message);
  if (thrown instanceof AppError)
    return toError(thrown.code === 'invalid_parameter' ? 'invalid_usage' : thrown.code, thrown.message);
  if (thrown instanceof StoreError) return toError('store_failed', storeMessage(thrown));
  if (thrown instanceof LeadIndexError && thrown.cause instanceof CommandError) return thrown.cause;
  if (thrown instanceof KnownFault) return toCommandError(thrown.toAppError());
  return toError('internal_error', 'This is a fault in Causeway itself; see stderr for the cause.');
};

const usageMessage = ({ code, message }: CommanderError): string => {
  if (code === 'commander.help') return 'A command is missing; --help lists them.';
  const amount = /unknown option '(-[$€£]?[\d.,].*)'/.exec(message)?.[1];
  if (amount !== undefined)
    return `${JSON.stringify(amount)} is not an amount. Write US dollars with a point, such as 12.50 or -12.50.`;
  const line = message.replace(/^error: (?:command-argument value )?/, '').replace(/\s*\n\s*/g, ' ');
  const sentence = `${line.charAt(0).toUpperCase()}${line.slice(1)}`.replace(/(?<![.)])$/, '.');
  // The message of an argument's reader describes the expected form.
  return code === 'commander.invalidArgument' ? sentence : `${sentence} Add --help to see the usage.`;
};

const reasonsWithoutChange: readonly StoreFailure[] = ['overloaded', 'closed', 'full'];

const storeMessage = ({ reason, message }: StoreError): string =>
  reasonsWithoutChange.includes(reason)
    ? `The store failed: ${message}`
    : `The store failed, and the change may have been made; look before you repeat it: ${message}`;

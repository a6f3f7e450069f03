import { CommanderError } from 'commander';
import { ConfigError } from '../kit/errors.ts';
import { LeadInputError } from '../leads/import/lead-input-error.ts';
import { LeadKeeperError } from '../leads/lead-keeper.ts';
import { StoreError, type StoreFailure } from '../store/store-error.ts';
import { signedForm } from './read-arguments.ts';

const exitCodes = {
  /** The arguments are wrong. */
  invalid_usage: 2,
  /** An environment variable, --data-dir or --env-file is wrong. */
  invalid_setting: 2,
  /** A file of account terms is wrong. */
  invalid_terms: 2,
  /** The data folder has no data of a gateway. */
  no_data: 1,
  account_not_found: 1,
  account_not_active: 1,
  key_not_found: 1,
  job_not_found: 1,
  webhook_not_found: 1,
  payment_not_found: 1,
  payment_not_settled: 1,
  payment_ambiguous: 1,
  payment_in_progress: 1,
  refund_not_found: 1,
  refund_open: 1,
  refund_conflict: 1,
  refund_not_possible: 1,
  network_not_configured: 1,
  chain_unavailable: 1,
  file_exists: 1,
  file_failed: 1,
  /** A signal stopped the command. */
  stopped: 1,
  /** Another import or change of the profiles is running. */
  leads_busy: 1,
  leads_damaged: 1,
  leads_failed: 1,
  /** A file of profiles or names cannot be read further. */
  input_failed: 1,
  too_many_rejected: 1,
  nothing_imported: 1,
  insufficient_balance: 1,
  refund_too_large: 1,
  store_failed: 1,
  internal_error: 1,
} as const;

/** The reason why a command failed: a stable code, one line for the operator, and the exit code of the code. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly code: keyof typeof exitCodes;
  readonly exitCode: number;

  constructor(code: keyof typeof exitCodes, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.exitCode = exitCodes[code];
  }
}

type Findable = 'account' | 'key' | 'job' | 'webhook' | 'refund';

/** Shortens the id, so that a key given in place of its id is not shown whole. */
export const notFound = (kind: Findable, id: string): CommandError => {
  const shown = JSON.stringify(id.length > 40 ? `${id.slice(0, 20)}…` : id);
  return new CommandError(`${kind}_not_found`, `There is no ${kind} with id ${shown}.`);
};

/** Returns `found`. Throws CommandError `<kind>_not_found` if it is null. */
export const requireFound = <T>(found: T | null, kind: Findable, id: string): T => {
  if (found === null) throw notFound(kind, id);
  return found;
};

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
  if (thrown instanceof StoreError) return toError('store_failed', storeMessage(thrown));
  if (thrown instanceof LeadInputError) return toError('input_failed', thrown.message);
  if (thrown instanceof LeadKeeperError) {
    // The error of an input is the reason, whatever the import made of it.
    const { cause, problem, message } = thrown;
    const isOfInput = cause instanceof CommandError || cause instanceof LeadInputError;
    return isOfInput ? toCommandError(cause) : toError(`leads_${problem}`, message);
  }
  return toError('internal_error', 'This is a fault in Causeway itself; see stderr for the cause.');
};

const usageMessage = ({ code, message }: CommanderError): string => {
  if (code === 'commander.help') return 'A command is missing; --help lists them.';
  const amount = /unknown option '(-[$€£]?[\d.,].*)'/.exec(message)?.[1];
  if (amount !== undefined) return `${JSON.stringify(amount)} is not an amount. ${signedForm}`;
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

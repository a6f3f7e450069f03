const exitCodes = {
  /** The words of the command are wrong. */
  invalid_usage: 2,
  /** An environment variable, --data-dir or --env-file is wrong. */
  invalid_setting: 2,
  /** A file of account terms is wrong. */
  invalid_terms: 2,
  /** The data folder holds no gateway's data. */
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
  /** A signal ended the command before its time. */
  stopped: 1,
  /** Another import or change of the profiles is under way. */
  leads_busy: 1,
  leads_damaged: 1,
  leads_failed: 1,
  /** A file of profiles cannot be read on. */
  input_failed: 1,
  too_many_rejected: 1,
  nothing_imported: 1,
  insufficient_balance: 1,
  refund_too_large: 1,
  store_failed: 1,
  internal_error: 1,
} as const;

export type CommandErrorCode = keyof typeof exitCodes;

/** Why a command was not carried out: a stable code, one line for the operator, and the exit code that follows. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly code: CommandErrorCode;
  readonly exitCode: number;

  constructor(code: CommandErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.exitCode = exitCodes[code];
  }
}

import type { Nano } from './money.ts';

/**
 * The closed table of the errors that customers meet: one row per code, with its HTTP status and envelope type
 * (docs/contract.md, "Errors"). Customers and models read the message of an AppError: it says what to do, and never contains upstream
 * text, paths or secrets. Those belong in `cause`, for the log.
 */
export const customerErrors = {
  invalid_api_key: [401, 'authentication_error'],
  invalid_sign_in: [401, 'authentication_error'],
  insufficient_balance: [402, 'insufficient_quota'],
  payment_required: [402, 'payment_required'],
  invalid_json: [400, 'invalid_request_error'],
  permission_denied: [403, 'permission_error'],
  confirmation_required: [403, 'permission_error'],
  facilitator_not_public: [403, 'invalid_request_error'],
  invalid_parameter: [422, 'invalid_request_error'],
  unsupported_response_format: [422, 'invalid_request_error'],
  content_policy_violation: [400, 'invalid_request_error'],
  model_not_found: [400, 'invalid_request_error'],
  invalid_payment: [400, 'invalid_request_error'],
  invalid_range: [400, 'invalid_request_error'],
  invalid_cursor: [400, 'invalid_request_error'],
  unknown_parameter: [400, 'invalid_request_error'],
  invalid_value: [400, 'invalid_request_error'],
  input_too_large: [400, 'invalid_request_error'],
  not_found: [404, 'invalid_request_error'],
  job_not_found: [404, 'invalid_request_error'],
  response_not_found: [404, 'invalid_request_error'],
  video_not_found: [404, 'invalid_request_error'],
  tool_not_found: [404, 'invalid_request_error'],
  method_not_allowed: [405, 'invalid_request_error'],
  request_timeout: [408, 'server_error'],
  idempotency_conflict: [409, 'invalid_request_error'],
  payment_conflict: [409, 'invalid_request_error'],
  payment_in_progress: [409, 'invalid_request_error'],
  video_not_completed: [409, 'invalid_request_error'],
  cancelled: [409, 'invalid_request_error'],
  content_expired: [410, 'invalid_request_error'],
  payload_too_large: [413, 'invalid_request_error'],
  unsupported_media_type: [415, 'invalid_request_error'],
  range_not_satisfiable: [416, 'invalid_request_error'],
  expectation_failed: [417, 'invalid_request_error'],
  rate_limit_exceeded: [429, 'rate_limit_exceeded'],
  too_many_active_jobs: [429, 'rate_limit_exceeded'],
  server_error: [500, 'server_error'],
  upstream_error: [502, 'server_error'],
  outcome_unknown: [502, 'server_error'],
  upstream_unavailable: [503, 'server_error'],
  webhook_temporarily_unavailable: [503, 'server_error'],
  overloaded: [503, 'server_error'],
  payment_pending: [503, 'server_error'],
  payment_unavailable: [503, 'server_error'],
  shutting_down: [503, 'server_error'],
} as const satisfies ErrorRows;

/** The codes that only operators meet, over HTTP and on the command line. */
const operatorErrors = {
  role_not_allowed: [403, 'permission_error'],
  account_not_found: [404, 'invalid_request_error'],
  key_not_found: [404, 'invalid_request_error'],
  connection_not_found: [404, 'invalid_request_error'],
  webhook_not_found: [404, 'invalid_request_error'],
  payment_not_found: [404, 'invalid_request_error'],
  refund_not_found: [404, 'invalid_request_error'],
  entry_not_found: [404, 'invalid_request_error'],
  audit_not_found: [404, 'invalid_request_error'],
  account_not_active: [409, 'invalid_request_error'],
  refund_too_large: [409, 'invalid_request_error'],
  payment_ambiguous: [409, 'invalid_request_error'],
  payment_not_settled: [409, 'invalid_request_error'],
  refund_open: [409, 'invalid_request_error'],
  refund_conflict: [409, 'invalid_request_error'],
  refund_not_possible: [409, 'invalid_request_error'],
  network_not_configured: [409, 'invalid_request_error'],
  invalid_setting: [409, 'invalid_request_error'],
  leads_busy: [409, 'invalid_request_error'],
  input_failed: [400, 'invalid_request_error'],
  too_many_rejected: [422, 'invalid_request_error'],
  nothing_imported: [422, 'invalid_request_error'],
  leads_damaged: [500, 'server_error'],
  leads_failed: [500, 'server_error'],
  chain_unavailable: [503, 'server_error'],
} as const satisfies ErrorRows;

export const errorTable = { ...customerErrors, ...operatorErrors };

type ErrorRows = Record<string, readonly [status: number, type: string]>;

/** Messages that say the same wherever they are answered, and in the documentation. */
export const messages = {
  invalid_api_key: 'No API key was sent. Send "Authorization: Bearer <API_KEY>".',
  invalid_json: 'The body is not valid JSON in UTF-8. Send one JSON object as application/json, no form.',
  not_found: 'There is nothing at this address. See /openapi.json.',
  job_not_found: 'This account has no job with that id. Check the id.',
  tool_not_found: 'No such tool is offered now. List or search the tools for those that are.',
  video_not_found: 'This account has no video with that id. Check the id.',
  cancelled: 'The job was cancelled before it began. It was not charged.',
  content_expired: 'The content was kept for its time and is gone. Make it again.',
  unsupported_media_type: 'Compressed bodies are not read. Send the JSON as it is.',
  expectation_failed: 'The only Expect header that is met is 100-continue.',
  server_error: 'The service had a temporary error. Try again.',
  overloaded: 'The service is busy. Try again.',
  shutting_down: 'The service is restarting. Try again.',
} as const satisfies Partial<Record<ErrorCode, string>>;

export type ErrorCode = keyof typeof errorTable;

/** The body `{error: ...}` of every refused call. */
export interface ErrorEnvelope {
  type: string;
  code: string;
  message: string;
  param?: string | null;
}

/** One wrong parameter. `loc` is its path, such as `["query", "limit"]` or `["body", "messages", 0]`. */
export interface ValidationIssue {
  loc: (string | number)[];
  msg: string;
  type: string;
}

export interface AppErrorOptions {
  /** The wrong field, for the envelope's `param`: names and indices joined by dots, such as `messages.0.content`. */
  param?: string | undefined;
  /** All wrong parameters of a 422. */
  issues?: ValidationIssue[] | undefined;
  retryAfterSeconds?: number | undefined;
  /** More response headers; lower case names. */
  headers?: Record<string, string>;
  /** True: the log has the failure already. */
  isLogged?: boolean;
  /** What the refused call may cost, where a person can let it through: by a confirmation, or with money. */
  waits?: { most: Nano; model: string | null };
  /** The address of the page where a person does that. */
  page?: string;
  cause?: unknown;
}

/** A refusal or fault with a public code and message. Anything else that is thrown becomes `server_error`. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly type: string;
  readonly param: string | undefined;
  readonly issues: ValidationIssue[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Record<string, string>;
  readonly isLogged: boolean;
  readonly waits: AppErrorOptions['waits'];
  readonly page: string | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    [this.status, this.type] = errorTable[code];
    this.code = code;
    this.param = options.param;
    this.issues = options.issues;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers ?? {};
    this.isLogged = options.isLogged ?? false;
    this.waits = options.waits;
    this.page = options.page;
  }

  /** Returns the same refusal in other words, with this one as its cause. */
  withMessage(message: string, headers: Record<string, string> = {}, page = this.page): AppError {
    const { code, param, issues, retryAfterSeconds, isLogged } = this;
    const same = { param, issues, retryAfterSeconds, isLogged, page };
    return new AppError(code, message, { ...same, headers: { ...this.headers, ...headers }, cause: this });
  }

  toEnvelope(): ErrorEnvelope {
    return {
      type: this.type,
      code: this.code,
      message: this.message,
      ...(this.param === undefined ? {} : { param: this.param }),
    };
  }
}

/** Refuses a field, which the envelope names. */
export const wrongField = (code: ErrorCode, param: string, message: string): AppError =>
  new AppError(code, message, { param });

/** Refuses a header of a call. `msg` follows its name. */
export const wrongHeader = (param: string, msg: string): AppError => {
  const issues = [{ loc: ['header', param], msg, type: 'value_error' }];
  return new AppError('invalid_parameter', `${param}: ${msg}`, { param, issues });
};

export const hasCode =
  (code: ErrorCode) =>
  (error: unknown): boolean =>
    error instanceof AppError && error.code === code;

/** For `.catch`: answers with `value` in place of the errors that `isKnown` names, and throws all others. */
export const instead =
  <Value>(value: Value, isKnown: (error: unknown) => boolean) =>
  (error: unknown): Value => {
    if (isKnown(error)) return value;
    throw error;
  };

/** A fault with its own public error, such as an outage of the store; never an expected refusal. */
export abstract class KnownFault extends Error {
  abstract toAppError(): AppError;
}

/** Converts any thrown value to an AppError. An unknown one becomes the cause, for the log, and is not shown. */
export const toAppError = (thrown: unknown): AppError => {
  if (thrown instanceof AppError) return thrown;
  if (thrown instanceof KnownFault) return thrown.toAppError();
  return isNoRoom(thrown)
    ? diskFull(thrown)
    : new AppError('server_error', messages.server_error, { cause: thrown });
};

/** Refuses new work while the gateway's disk is full. */
export const diskFull = (cause: unknown): AppError =>
  new AppError(
    'upstream_unavailable',
    'The service cannot accept new work now because its disk is full. Try again later.',
    { cause, retryAfterSeconds: 30 },
  );

/** Refuses a method on a known path. `allow` is the value of the Allow header. */
export const methodNotAllowed = (allow: string): AppError =>
  new AppError('method_not_allowed', `This path takes ${allow}.`, { headers: { allow } });

/** True if a file could not be written because the disk or the quota is full. */
const isNoRoom = (thrown: unknown): boolean =>
  thrown instanceof Error && 'code' in thrown && (thrown.code === 'ENOSPC' || thrown.code === 'EDQUOT');

/** True if the same request may succeed later: a fault of the service, or a busy upstream. */
export const isTransient = (code: ErrorCode): boolean =>
  errorTable[code][0] >= 500 || code === 'rate_limit_exceeded';

/** Returns the public code of a stored error. An unknown code becomes `server_error`. */
export const toErrorCode = (code: string | undefined): ErrorCode =>
  code !== undefined && Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'server_error';

/** A wrong setting. The message is one line; the process exits with code 2. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

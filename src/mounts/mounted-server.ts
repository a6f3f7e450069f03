import type { Nano } from '../kit/money.ts';
import type { JsonObject } from '../kit/json.ts';

/** What came of a call of a tool. */
export type ToolOutcome =
  /** The server answered, perhaps that the tool failed (`isError`). */
  | { kind: 'answered'; result: JsonObject }
  /** Nothing was sent, or the server did not take it. `isSessionLost`: it does not know the connection any more. */
  | { kind: 'unsent'; isSessionLost?: boolean; cause: unknown }
  /** The tool may have run, or may be paid. `isSessionLost`: it did not run; the server does not know the connection any more. */
  | { kind: 'unknown'; isSessionLost?: boolean; cause: unknown };

/** How far a call is, in the units of its server. */
export interface ToolProgress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

/** What goes with a call. */
export interface CallContext {
  /** Cancels the call, also at the server. */
  signal: AbortSignal;
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** The most that may be paid to the server for it; undefined: nothing. */
  maxCost?: Nano | undefined;
  /** Names the trace that the call belongs to (W3C). */
  traceparent?: string | undefined;
}

/** An open connection to a mounted server, however it is reached. */
export interface MountedServer {
  /** Lists the tools as the server describes them; nothing of it is checked. Rejects when the server fails. */
  list(signal: AbortSignal): Promise<unknown[]>;
  /** Calls a tool once. Never rejects. */
  call(tool: string, input: JsonObject, context: CallContext): Promise<ToolOutcome>;
  /** Resolves when the connection has ended, for whatever reason. */
  readonly ended: Promise<void>;
  /** Ends the connection, and the process behind it. */
  close(): Promise<void>;
}

/** The result of a tool that failed. */
export const failedResult = (text: string): JsonObject => ({
  content: [{ type: 'text', text }],
  isError: true,
});

export const wrongForm = 'The server of this tool answered in a wrong form.';

/** Nothing of a message was sent, or the server did not take it. */
export class UnsentError extends Error {
  override readonly name = 'UnsentError';
  /** The server does not know the connection any more. */
  readonly isSessionLost: boolean;

  constructor(message: string, isSessionLost = false) {
    super(message);
    this.isSessionLost = isSessionLost;
  }
}

/** The server has no room for the call now. */
export class BusyError extends UnsentError {
  /** The header `Retry-After`. */
  readonly retryAfter: string | string[] | undefined;

  constructor(message: string, retryAfter: string | string[] | undefined) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

/** The server asks for a payment, and did not run the tool. */
export class PaymentRequiredError extends UnsentError {
  /** In base64, as the header `PAYMENT-REQUIRED`. */
  readonly terms: string;

  constructor(message: string, terms: string) {
    super(message);
    this.terms = terms;
  }
}

import type { RequestNote } from '../kit/log-request.ts';
import type { RequestMemory } from '../limits/request-memory.ts';
import type { ToolGroup } from './tool-list.ts';
import type { Caller } from '../accounts/authenticate.ts';

/** The client of one HTTP request or one stdio connection, as the transport knows it. */
export interface McpIdentity {
  group: ToolGroup;
  /** Whether a key was sent, which decides what is listed. */
  hasKey: boolean;
  /** Reads the account of the key; null without a key. Rejects with AppError when the key has ended meanwhile. */
  caller(): Promise<Caller | null>;
  /** The address that rate limits count. */
  clientAddress: string;
  /** Makes the id of one call for the log. */
  requestId(): string;
  /** Fields for the log; the call adds its name. */
  note: RequestNote;
  /** Whether each call is logged on its own line, as over stdio, where there is no HTTP request. */
  logsCalls: boolean;
  /** The memory that the request holds. */
  memory: RequestMemory;
  /** Tells the client how to get and send a key. */
  keyHint: string;
}

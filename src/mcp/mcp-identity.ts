import type { Caller } from '../accounts/caller.ts';
import type { RequestNote } from '../kit/log-request.ts';
import type { RequestMemory } from '../limits/request-memory.ts';
import type { ToolGroup } from './tool-list.ts';

/** Who is being served, as far as the transport knows: the sender of one HTTP request, or of one stdio connection. */
export interface McpIdentity {
  group: ToolGroup;
  /** Whether a key came along, which decides what is listed. */
  hasKey: boolean;
  /** The account behind the key as of now; null without a key. Rejects with AppError when the key ended meanwhile. */
  caller(): Promise<Caller | null>;
  /** For rate limits. */
  clientAddress: string;
  /** Names one call in the log. */
  requestId(): string;
  /** Completed by what is called, for the log. */
  note: RequestNote;
  /** Whether each call has a line of its own in the log, as over stdio, where no HTTP request has one. */
  logsCalls: boolean;
  /** What the request holds of memory. */
  memory: RequestMemory;
  /** What the sender has to do to get and send a key. */
  keyHint: string;
}

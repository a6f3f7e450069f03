import type { MediaRole } from '../store/store.ts';

/** Saves the bytes of a result durably, under a public URL. They are removed unless the job's end takes them. */
export type SaveResult = (input: {
  accountId: string;
  role: MediaRole;
  contentType: string;
  source: Uint8Array | AsyncIterable<Uint8Array>;
  signal: AbortSignal;
}) => Promise<{ id: string; role: MediaRole; contentType: string; sizeBytes: number; url: string }>;

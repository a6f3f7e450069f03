import { z } from 'zod';

/**
 * An id as the caller gives it. One that is no id of ours is not found. PostgreSQL refuses texts with the character zero,
 * and other control characters spoil a terminal.
 */
export const idField = z
  .string()
  .min(1)
  .max(300)
  .regex(/^\P{Cc}*$/u, 'must be one line of plain text');

/** Returns the id of a job that a caller names by it, or by the id of its completion or response. */
export const toJobId = (given: string): string => given.replace(/^(?:chatcmpl-|resp_)/, '').toLowerCase();
